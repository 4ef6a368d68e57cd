#include "isobit/run/registers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <system_error>

#include "isobit/base/frame.h"
#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/run/keys.h"

namespace isobit::run {
namespace {

constexpr uint32_t kVersion = 1, kWithInputs = 2;
constexpr uint32_t kWithNetwork = 3;    // of a begun run
constexpr uint32_t kWithTokenizer = 4;  // of a begun run
constexpr uint64_t kMaxEntryBytes = 1 << 20;
constexpr uint64_t kMaxPathBytes = 1 << 14;
constexpr uint64_t kMaxPaths = 1 << 10;
constexpr uint64_t kMaxHeadBytes = 1 << 10;

// The name of an entry below the home.
fs::path name_of(const char* kind, const commit::RunId& run_id) { return fs::path(kind) / to_hex(run_id); }

// Only a system that says "there is none" is believed: an entry that cannot be seen may be that of a run that has
// begun.
Expected<bool> is_there(const fs::path& path) {
  struct stat info {};
  const bool found = ::lstat(path.c_str(), &info) == 0;
  if (found && ::access(path.c_str(), R_OK) == 0) return true;
  const int problem = errno;
  if (!found && problem == ENOENT) return false;
  return unavailable(text_of(path.string(), ": cannot be looked up: ", std::generic_category().message(problem),
                             "; it says whether a run id was used before: let your user read it and the folders above "
                             "it, or name the home that you mean with --keys"));
}

// A checksum follows the entry, so that a damaged file is not taken for evidence against a trainer.
Bytes sealed(ByteWriter entry) {
  const commit::Digest sum = commit::sha256(entry.view());
  entry.fixed(sum);
  return entry.take();
}

Expected<Bytes> read_entry(const fs::path& path) {
  ISOBIT_TRY(Bytes bytes, read_file(path, kMaxEntryBytes));
  const size_t sum = sizeof(commit::Digest);
  const size_t size = bytes.size() < sum ? 0 : bytes.size() - sum;
  const commit::Digest found = commit::sha256(ByteView(bytes).first(size));
  if (bytes.size() < sum || !std::equal(found.begin(), found.end(), bytes.begin() + static_cast<ptrdiff_t>(size))) {
    return unreadable(text_of(path.string(),
                              ": is damaged: its checksum is not that of its bytes; restore it from a "
                              "backup of your keys"));
  }
  bytes.resize(size);
  return bytes;
}

// What holds the home, the home, and the folders in it down to the one that holds the entry: who made them, or the
// entry, may not have come so far as to make them durable.
Status sync_folders_of(const fs::path& home, const fs::path& name) {
  fs::path folder = home;
  const fs::path named = home.has_filename() ? home : home.parent_path();  // without a slash at the end
  const fs::path holder = named.has_parent_path() ? named.parent_path() : fs::path(".");
  // One that may not be read cannot be synced; its owner made the home.
  if (::access(holder.c_str(), R_OK) == 0) ISOBIT_RETURN_IF_ERROR(sync_folder(holder));
  ISOBIT_RETURN_IF_ERROR(sync_folder(folder));
  for (const fs::path& part : name.parent_path()) {
    folder /= part;
    ISOBIT_RETURN_IF_ERROR(sync_folder(folder));
  }
  return {};
}

// Makes the entry of that name below the home; false when there is one already. In either case it is durable.
Expected<bool> make_entry(const fs::path& home, const fs::path& name, ByteWriter entry) {
  const fs::path path = home / name;
  ISOBIT_TRY(const bool before, is_there(path));
  // Private: an entry that somebody else could add would speak against an honest run.
  if (!before) ISOBIT_RETURN_IF_ERROR(make_folder_durably(path.parent_path(), kPrivateFolder));
  ISOBIT_RETURN_IF_ERROR(sync_folders_of(home, name));
  if (before) return false;
  const Status made = create_file_durably(path, sealed(std::move(entry)), 0600);
  if (made) return true;
  // Only "it is there already" says that another process was faster. This one's own may be there and not be durable.
  if (made.error().code != ErrorCode::kUsage) return tl::unexpected<Error>(made.error());
  ISOBIT_RETURN_IF_ERROR(sync_folder(path.parent_path()));
  return false;
}

void write_texts(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.u64(texts.size());
  for (const std::string& text : texts) writer.text(text);
}

Expected<std::vector<std::string>> read_texts(ByteReader& reader, const char* field) {
  ISOBIT_TRY(const uint64_t count, reader.u64(field));
  if (count > kMaxPaths) return reader.fail(field, text_of("found ", count, ", expected at most ", kMaxPaths));
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(std::string text, reader.text(field, kMaxPathBytes));
    texts.push_back(std::move(text));
  }
  return texts;
}

void write_inputs(ByteWriter& writer, const data::InputFiles& files) {
  writer.u64(files.size());
  for (const auto& [name, path] : files) {
    writer.text(name);
    writer.text(path);
  }
}

Expected<data::InputFiles> read_inputs(ByteReader& reader, const char* field) {
  ISOBIT_TRY(const uint64_t count, reader.u64(field));
  if (count > kMaxPaths) return reader.fail(field, text_of("found ", count, ", expected at most ", kMaxPaths));
  data::InputFiles files;
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(std::string name, reader.text(field, kMaxPathBytes));
    ISOBIT_TRY(std::string path, reader.text(field, kMaxPathBytes));
    if (!files.empty() && name <= files.rbegin()->first) {
      return reader.fail(field, "names are not strictly increasing");
    }
    files.emplace(std::move(name), std::move(path));
  }
  return files;
}

// Inputs by name, files of the network and a tokenizer are younger than version 1; the oldest version is written that
// says all.
bool names_inputs(const train::JobPaths& paths) { return !paths.inputs.empty() || !paths.test_inputs.empty(); }
bool names_network(const train::JobPaths& paths) { return !paths.onnx.empty() || !paths.weights.empty(); }

uint32_t version_of(const train::JobPaths& paths) {
  if (paths.names_tokenizer()) return kWithTokenizer;
  return names_network(paths) ? kWithNetwork : names_inputs(paths) ? kWithInputs : kVersion;
}

ByteWriter encode(const BegunRun& run) {
  ByteWriter writer;
  const train::JobPaths& p = run.paths;
  write_frame(writer, "isobit.begun", version_of(p));
  writer.text(run.folder.string());
  for (const std::string* path : {&p.path, &p.labels_path, &p.test_path, &p.test_labels_path, &p.salt}) {
    writer.text(*path);
  }
  write_texts(writer, p.files);
  write_texts(writer, p.test_files);
  if (version_of(p) == kVersion) return writer;
  write_inputs(writer, p.inputs);
  write_inputs(writer, p.test_inputs);
  if (version_of(p) == kWithInputs) return writer;
  writer.text(p.onnx);
  writer.text(p.weights);
  if (version_of(p) == kWithNetwork) return writer;
  for (const std::string* path : {&p.encoder, &p.merges, &p.token_cache}) writer.text(*path);
  return writer;
}

Expected<BegunRun> decode_begun(ByteView bytes, const std::string& what) {
  ByteReader reader(bytes, what);
  uint32_t version = kVersion;
  for (const uint32_t newer : {kWithInputs, kWithNetwork, kWithTokenizer}) {
    ByteReader tried(bytes, what);
    if (read_frame(tried, "isobit.begun", newer)) version = newer;
  }
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, "isobit.begun", version));
  BegunRun run;
  ISOBIT_TRY(run.folder, reader.text("folder", kMaxPathBytes));
  train::JobPaths& p = run.paths;
  for (std::string* path : {&p.path, &p.labels_path, &p.test_path, &p.test_labels_path, &p.salt}) {
    ISOBIT_TRY(*path, reader.text("path", kMaxPathBytes));
  }
  ISOBIT_TRY(p.files, read_texts(reader, "files"));
  ISOBIT_TRY(p.test_files, read_texts(reader, "test_files"));
  if (version >= kWithInputs) {
    ISOBIT_TRY(p.inputs, read_inputs(reader, "inputs"));
    ISOBIT_TRY(p.test_inputs, read_inputs(reader, "test_inputs"));
  }
  if (version >= kWithNetwork) {
    ISOBIT_TRY(p.onnx, reader.text("onnx", kMaxPathBytes));
    ISOBIT_TRY(p.weights, reader.text("weights", kMaxPathBytes));
  }
  if (version >= kWithTokenizer) {
    for (std::string* path : {&p.encoder, &p.merges, &p.token_cache}) {
      ISOBIT_TRY(*path, reader.text("tokenizer", kMaxPathBytes));
    }
  }
  if (version_of(p) != version) {
    return reader.fail("version", text_of("found ", version, ", expected ", version_of(p), ", which says all of this"));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return run;
}

}  // namespace

Expected<std::optional<BegunRun>> find_begun(const fs::path& home, const commit::RunId& run_id) {
  const fs::path path = home / name_of("begun", run_id);
  ISOBIT_TRY(const bool begun, is_there(path));
  if (!begun) return std::nullopt;
  ISOBIT_TRY(const Bytes bytes, read_entry(path));
  ISOBIT_TRY(BegunRun run, decode_begun(bytes, path.string()));
  return run;
}

Status note_begun(const fs::path& home, const commit::RunId& run_id, const BegunRun& run) {
  ISOBIT_TRY(const bool made, make_entry(home, name_of("begun", run_id), encode(run)));
  if (made) return {};
  ISOBIT_TRY(const auto other, find_begun(home, run_id));
  if (other && *other == run) return {};
  return usage_error(text_of("run id ", to_hex(run_id), ": a run has begun under it",
                             other ? text_of(" in ", other->folder.string()) : "",
                             "; a run id stands for one run: continue that one with --resume, or ask the client for a "
                             "new offer"));
}

Status note_moved(const fs::path& home, const commit::RunId& run_id, const fs::path& folder) {
  ISOBIT_TRY(auto entry, find_begun(home, run_id));
  if (!entry) return usage_error(text_of("run id ", to_hex(run_id), ": no run has begun under it"));
  entry->folder = folder;
  return write_file_durably(home / name_of("begun", run_id), sealed(encode(*entry)));
}

Status note_offered(const fs::path& home, const commit::RunId& run_id, const commit::Digest& job_root) {
  ByteWriter writer;
  write_frame(writer, "isobit.offered", kVersion);
  writer.fixed(job_root);
  ISOBIT_TRY(const bool made, make_entry(home, name_of("offered", run_id), std::move(writer)));
  if (made) return {};
  return usage_error(text_of("run id ", to_hex(run_id), ": was offered before; a run id stands for one run"));
}

namespace {

// By client: a stranger who learns a run id must not be able to speak for it. By trainer: nor must a client that
// engages a second one under the run id of the first.
fs::path name_of(const char* kind, const JudgedRun& run) {
  return fs::path(kind) / commit::hex_of(run.client) / commit::hex_of(run.trainer) / to_hex(run.run_id);
}

Expected<commit::Digest> read_judged(const fs::path& path) {
  ISOBIT_TRY(const Bytes bytes, read_entry(path));
  ByteReader reader(bytes, path.string());
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, "isobit.judged", kVersion));
  ISOBIT_TRY(const commit::Digest first, commit::read_digest(reader, "transcript_root"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return first;
}

}  // namespace

Expected<std::optional<commit::Digest>> find_judged(const fs::path& home, const JudgedRun& run) {
  const fs::path path = home / name_of("judged", run);
  ISOBIT_TRY(const bool judged, is_there(path));
  if (!judged) return std::nullopt;
  ISOBIT_TRY(const commit::Digest first, read_judged(path));
  return first;
}

Expected<commit::Digest> note_judged(const fs::path& home, const JudgedRun& run,
                                     const commit::Digest& transcript_root) {
  ByteWriter writer;
  write_frame(writer, "isobit.judged", kVersion);
  writer.fixed(transcript_root);
  ISOBIT_TRY(const bool made, make_entry(home, name_of("judged", run), std::move(writer)));
  return made ? transcript_root : read_judged(home / name_of("judged", run));
}

Expected<std::optional<verify::SignedHead>> find_followed(const fs::path& home, const JudgedRun& run) {
  const fs::path path = home / name_of("followed", run);
  ISOBIT_TRY(const bool followed, is_there(path));
  if (!followed) return std::nullopt;
  ISOBIT_TRY(const Bytes bytes, read_entry(path));
  ByteReader reader(bytes, path.string());
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, "isobit.followed", kVersion));
  ISOBIT_TRY(const ByteView head, reader.bytes("head", kMaxHeadBytes));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  ISOBIT_TRY(verify::SignedHead seen, verify::decode_head(head, path.string()));
  return seen;
}

Status note_followed(const fs::path& home, const JudgedRun& run, const verify::SignedHead& head) {
  ISOBIT_CHECK(head.key == run.trainer && head.run_id == run.run_id);
  const fs::path name = name_of("followed", run);
  const auto entry = [&] {
    ByteWriter writer;
    write_frame(writer, "isobit.followed", kVersion);
    writer.bytes(verify::encode(head));
    return writer;
  };
  ISOBIT_TRY(const bool made, make_entry(home, name, entry()));
  if (made) return {};
  ISOBIT_TRY(const auto seen, find_followed(home, run));
  if (seen && seen->tree.size >= head.tree.size) return {};
  return write_file_durably(home / name, sealed(entry()));
}

namespace {

constexpr uint64_t kMaxOperatorBytes = 1 << 8, kMaxOperators = 1 << 10;

// The numbers of one operator, in the order in which they are written.
template <class CountsOf>
auto numbers(CountsOf& c) {
  return std::array{&c.elements, &c.entries, &c.needed,  &c.corrections, &c.moved, &c.evaluated,
                    &c.sampled,  &c.checked, &c.missing, &c.superfluous, &c.beyond};
}

void write(ByteWriter& w, const KeptReplay& replay) {
  w.u64(replay.step);
  w.fixed(replay.history);
  w.u64(std::bit_cast<uint64_t>(replay.step_seconds));
  w.i64(replay.repairs.elements);
  w.i64(replay.repairs.repaired);
  w.u64(replay.log_counts.size());
  for (const auto& [op, counts] : replay.log_counts) {
    w.text(op);
    for (const uint64_t* number : numbers(counts)) w.u64(*number);
  }
}

Expected<KeptReplay> read_kept(ByteReader& r) {
  KeptReplay replay;
  ISOBIT_TRY(replay.step, r.u64("step"));
  ISOBIT_TRY(replay.history, commit::read_digest(r, "history"));
  ISOBIT_TRY(const uint64_t seconds, r.u64("step seconds"));
  replay.step_seconds = std::bit_cast<double>(seconds);
  ISOBIT_TRY(replay.repairs.elements, r.i64("elements"));
  ISOBIT_TRY(replay.repairs.repaired, r.i64("repaired"));
  ISOBIT_TRY(const uint64_t operators, r.u64("operators"));
  if (operators > kMaxOperators) return r.fail("operators", text_of("found ", operators, ", at most ", kMaxOperators));
  for (uint64_t i = 0; i < operators; ++i) {
    ISOBIT_TRY(const std::string op, r.text("operator", kMaxOperatorBytes));
    log::Counts& counts = replay.log_counts[op];
    for (uint64_t* number : numbers(counts)) {
      ISOBIT_TRY(*number, r.u64("count"));
    }
  }
  return replay;
}

}  // namespace

Expected<std::vector<KeptReplay>> find_kept(const fs::path& home, const JudgedRun& run) {
  const fs::path path = home / name_of("kept", run);
  ISOBIT_TRY(const bool kept, is_there(path));
  std::vector<KeptReplay> found;
  if (!kept) return found;
  ISOBIT_TRY(const Bytes bytes, read_entry(path));
  ByteReader reader(bytes, path.string());
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, "isobit.kept", kVersion));
  ISOBIT_TRY(const uint64_t count, reader.u64("replays"));
  if (count < 1 || count > 2) return reader.fail("replays", text_of("found ", count, ", expected 1 or 2"));
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(KeptReplay replay, read_kept(reader));
    found.push_back(std::move(replay));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return found;
}

Status note_kept(const fs::path& home, const JudgedRun& run, const std::vector<KeptReplay>& replays) {
  ISOBIT_CHECK(replays.size() == 1 || replays.size() == 2);
  const fs::path name = name_of("kept", run);
  const auto entry = [&] {
    ByteWriter writer;
    write_frame(writer, "isobit.kept", kVersion);
    writer.u64(replays.size());
    for (const KeptReplay& replay : replays) write(writer, replay);
    return writer;
  };
  ISOBIT_TRY(const bool made, make_entry(home, name, entry()));
  return made ? Status() : write_file_durably(home / name, sealed(entry()));
}

}  // namespace isobit::run
