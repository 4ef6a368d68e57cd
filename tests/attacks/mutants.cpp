#include "tests/attacks/mutants.h"

#include <algorithm>
#include <tuple>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/record_file.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/job_root.h"
#include "isobit/run/step_logs.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/verify/log_tree.h"

namespace isobit::attacks {

namespace {

using Random = std::mt19937_64;

uint64_t below(Random& random, uint64_t n) { return n == 0 ? 0 : random() % n; }

// --- Bytes that know nothing of what they mean ---

constexpr uint64_t kInteresting[] = {
    0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0xffff, 1u << 31, 0xffffffff, uint64_t{1} << 62, uint64_t{1} << 63, ~uint64_t{0}};

void put_number(Bytes& data, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size && at + i < data.size(); ++i) data[at + i] = static_cast<uint8_t>(value >> 8 * i);
}

uint64_t number_at(const Bytes& data, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size && at + i < data.size(); ++i) value |= uint64_t{data[at + i]} << 8 * i;
  return value;
}

void insert(Bytes& data, size_t at, const Bytes& more) {
  data.insert(data.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
}

void erase(Bytes& data, size_t at, size_t count) {
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
  data.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(count, data.size() - at)));
}

Bytes piece(const Bytes& data, Random& random) {
  if (data.empty()) return {};
  const size_t at = below(random, data.size()), size = 1 + below(random, std::min<size_t>(64, data.size() - at));
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
  return Bytes(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, data.size() - at)));
}

// One change of any kind. Half of them near the beginning, where the fields are.
void change_bytes(Bytes& data, Random& random) {
  if (data.empty()) return data.push_back(static_cast<uint8_t>(random()));
  const size_t room = below(random, 2) == 0 ? data.size() : std::min<size_t>(data.size(), 128);
  const size_t at = below(random, room);
  switch (below(random, 11)) {
    case 0:
    case 1:
    case 2:
      data[at] ^= static_cast<uint8_t>(1u << below(random, 8));
      break;
    case 3:
      data[at] = static_cast<uint8_t>(random());
      break;
    case 4:
      put_number(data, at, kInteresting[below(random, std::size(kInteresting))], size_t{1} << below(random, 4));
      break;
    case 5: {
      const size_t size = size_t{1} << below(random, 4);
      put_number(data, at, number_at(data, at, size) + (below(random, 2) == 0 ? 1 : ~uint64_t{0}), size);
      break;
    }
    case 6:
      erase(data, at, 1 + below(random, 16));
      break;
    case 7:
      insert(data, at, Bytes(1 + below(random, 16), static_cast<uint8_t>(random())));
      break;
    case 8:
      insert(data, at, piece(data, random));
      break;
    case 9:
      data.resize(at);
      break;
    default: {
      const Bytes other = piece(data, random);
      for (size_t i = 0; i < other.size() && at + i < data.size(); ++i) data[at + i] = other[i];
    }
  }
}

// --- A run in parts ---

// What is signed again: leaves and segments as bytes, so that they may be anything.
struct Parts {
  Bytes header;  // of the transcript
  std::vector<Bytes> leaves;
  std::vector<Bytes> segments;
  std::vector<uint64_t> heads;  // sizes
};

std::vector<Bytes> payloads(const Bytes& file, size_t header, size_t largest) {
  std::vector<Bytes> out;
  bundle::RecordCursor records(ByteView(file).subspan(header), largest);
  while (const auto payload = records.next()) out.emplace_back(payload->begin(), payload->end());
  return out;
}

Bytes log_header() {
  ByteWriter writer;
  writer.text("isobit.log_file");
  writer.u32(1);
  return writer.take();
}

Parts parts_of(const Honest& honest) {
  Parts parts;
  parts.header = bundle::transcript_header(run::transcript_rules(honest.job));
  parts.leaves = payloads(honest.files.at("transcript"), parts.header.size(), verify::kMaxLeafBytes);
  if (const auto log = honest.files.find("log/segments"); log != honest.files.end()) {
    parts.segments = payloads(log->second, log_header().size(), 1 << 28);
  }
  const auto heads = bundle::decode_heads_file(honest.files.at("heads"), "heads").value();
  for (const verify::SignedHead& head : heads.heads) parts.heads.push_back(head.tree.size);
  return parts;
}

Bytes record_file(Bytes header, const std::vector<Bytes>& records) {
  for (const Bytes& r : records) insert(header, header.size(), bundle::encode_record(r));
  return header;
}

verify::Engagement engagement_of(const Honest& honest) {
  return verify::decode_engagement(honest.files.at("engagement"), "engagement").value();
}

verify::Leaf leaf_of(const Honest& honest, const Bytes& bytes) {
  return verify::decode_leaf(bytes, run::transcript_rules(honest.job), "leaf").value();
}

Bytes heads_over(const Honest& honest, const Parts& parts) {
  const verify::EngagementTerms terms = engagement_of(honest).terms;
  std::vector<Bytes> records;
  for (const uint64_t size : parts.heads) {
    commit::MerkleTree tree;
    for (size_t i = 0; i < std::min<size_t>(size, parts.leaves.size()); ++i) {
      tree.append(commit::leaf_hash(parts.leaves[i]));
    }
    records.push_back(verify::encode(verify::sign_head({size, tree.root()}, terms, honest.trainer)));
  }
  return record_file(bundle::heads_header(), records);
}

// Digests of all files and the transcript's root, in the form of the honest manifest, signed.
void sign_manifest(const Honest& honest, Files& files, const Parts* parts) {
  bundle::Manifest manifest = bundle::decode_manifest(honest.files.at("manifest.json"), "manifest").value();
  manifest.files.clear();
  for (const auto& [name, data] : files) {
    if (name != "manifest.json" && name != "manifest.sig") manifest.files[name] = {data.size(), commit::sha256(data)};
  }
  if (parts != nullptr) {
    commit::MerkleTree tree;
    for (const Bytes& leaf : parts->leaves) tree.append(commit::leaf_hash(leaf));
    manifest.transcript_root = tree.sized_root().commitment("isobit.transcript", 1);
  }
  files["manifest.json"] = bundle::encode(manifest);
}

void sign_text(const Honest& honest, Files& files) {
  const verify::EngagementTerms terms = engagement_of(honest).terms;
  files["manifest.sig"] =
      bundle::encode(bundle::sign_manifest(files.at("manifest.json"), terms.job_root, terms.run_id, honest.trainer));
}

// The transcript, the log, heads over them and the manifest, all signed.
void put_together(const Honest& honest, const Parts& parts, Files& files) {
  files["transcript"] = record_file(parts.header, parts.leaves);
  if (!parts.segments.empty()) files["log/segments"] = record_file(log_header(), parts.segments);
  files["heads"] = heads_over(honest, parts);
  sign_manifest(honest, files, &parts);
  sign_text(honest, files);
}

std::string any_file(const Files& files, Random& random) {
  return std::next(files.begin(), static_cast<std::ptrdiff_t>(below(random, files.size())))->first;
}

// --- Changes that are signed for down to the last root ---

Bytes with_log_digest(const Honest& honest, const Bytes& leaf, const Bytes& segment, uint64_t step) {
  auto changed = std::get<verify::StepLeaf>(leaf_of(honest, leaf));
  const auto decoded = log::decode_segment(segment, step, honest.job.rounding.log, honest.schema, "segment");
  if (!decoded) return leaf;
  changed.log_segment = verify::log_segment_root(*decoded);
  return verify::encode(verify::Leaf(changed));
}

std::string change_leaf_bytes(Parts& parts, Random& random) {
  const size_t i = below(random, parts.leaves.size());
  change_bytes(parts.leaves[i], random);
  return text_of("bytes of leaf ", i);
}

std::string change_leaf_order(Parts& parts, Random& random) {
  const size_t i = below(random, parts.leaves.size()), j = below(random, parts.leaves.size());
  switch (below(random, 3)) {
    case 0:
      parts.leaves.erase(parts.leaves.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    case 1:
      parts.leaves.insert(parts.leaves.begin() + static_cast<std::ptrdiff_t>(i), Bytes(parts.leaves[j]));
      break;
    default:
      std::swap(parts.leaves[i], parts.leaves[j]);
  }
  if (below(random, 2) == 0) parts.heads.back() = parts.leaves.size();
  return text_of("order of leaves ", i, " and ", j);
}

// One digest or number of a leaf takes another leaf's place or chance's.
std::string change_leaf_field(const Honest& honest, Parts& parts, Random& random) {
  const size_t i = below(random, parts.leaves.size());
  verify::Leaf leaf = leaf_of(honest, parts.leaves[i]);
  commit::Digest made_up;
  for (uint8_t& b : made_up) b = static_cast<uint8_t>(random());
  const uint64_t field = below(random, 5);
  if (auto* initial = std::get_if<verify::InitialLeaf>(&leaf)) {
    (field < 2 ? initial->job_root : initial->state_root) = made_up;
  } else if (auto* step = std::get_if<verify::StepLeaf>(&leaf)) {
    if (field == 0) step->batch = made_up;
    if (field == 1) step->loss.bits ^= uint64_t{1} << below(random, 32);
    if (field == 2 && step->state_root) step->state_root = made_up;
    if (field == 3 && step->log_segment) step->log_segment = made_up;
    if (field == 4) step->step += 1;
  } else {
    std::get<verify::FinalLeaf>(leaf).state_root = made_up;
  }
  parts.leaves[i] = verify::encode(leaf);
  return text_of("field ", field, " of leaf ", i);
}

std::string change_heads(Parts& parts, Random& random) {
  const size_t i = below(random, parts.heads.size());
  if (below(random, 2) == 0) {
    parts.heads.erase(parts.heads.begin() + static_cast<std::ptrdiff_t>(i));
  } else {
    parts.heads[i] = below(random, 12);
  }
  return text_of("head ", i);
}

void change_entries(log::SparseLog& log, Random& random) {
  if (log.nodes.empty()) return;
  log::SparseNode& node = log.nodes[below(random, log.nodes.size())];
  log::SparseEntry& entry = node.entries[below(random, node.entries.size())];
  using Kind = log::SparseEntry::Kind;
  switch (below(random, 4)) {
    case 0:
      if (entry.kind != Kind::kValue) entry.kind = entry.kind == Kind::kOdd ? Kind::kEven : Kind::kOdd;
      break;
    case 1:
      entry = {entry.position, Kind::kValue, std::bit_cast<float>(static_cast<uint32_t>(random()))};
      break;
    case 2:
      if (node.entries.size() > 1) node.entries.pop_back();
      break;
    default:
      node.entries.push_back({node.entries.back().position + 1 + below(random, 30), Kind::kOdd, 0});
  }
}

void change_entries(log::OvtLog& log, Random& random) {
  if (log.outputs.empty()) return;
  auto& decisions = log.outputs[below(random, log.outputs.size())].decisions;
  for (uint64_t n = 1 + below(random, 40); n > 0 && !decisions.empty(); --n) {
    decisions[below(random, decisions.size())] = static_cast<uint8_t>(below(random, 3));
  }
}

std::string change_log(const Honest& honest, Parts& parts, Random& random) {
  const size_t i = below(random, parts.segments.size());
  Bytes& segment = parts.segments[i];
  const bool entries = below(random, 2) == 0;
  if (entries) {
    auto log = log::decode_segment(segment, i + 1, honest.job.rounding.log, honest.schema, "segment").value();
    std::visit([&](auto& l) { change_entries(l, random); }, log.log);
    segment = log::encode(log);
  } else {
    change_bytes(segment, random);
  }
  parts.leaves[i + 1] = with_log_digest(honest, parts.leaves[i + 1], segment, i + 1);
  return text_of(entries ? "entries" : "bytes", " of segment ", i + 1);
}

std::optional<uint64_t> step_of_checkpoint(const std::string& name) {
  const size_t prefix = bundle::kCheckpointFolder.size() + 1;
  if (!name.starts_with(bundle::kCheckpointFolder) || name.size() <= prefix) return std::nullopt;
  return bundle::checkpoint_step(std::string_view(name).substr(prefix));
}

// The state in the checkpoint of `step` is now the one that the leaves claim.
void claim_state(const Honest& honest, const formats::Safetensors& state, uint64_t step, Parts& parts) {
  ThreadPool pool(1);
  const commit::Digest root = commit::state_root(state.tensors, step, pool).value().digest();
  for (Bytes& bytes : parts.leaves) {
    verify::Leaf leaf = leaf_of(honest, bytes);
    if (auto* s = std::get_if<verify::StepLeaf>(&leaf); s && s->step == step && s->state_root) s->state_root = root;
    if (auto* f = std::get_if<verify::FinalLeaf>(&leaf); f && f->steps == step) f->state_root = root;
    bytes = verify::encode(leaf);
  }
}

std::string change_state(const Honest& honest, Files& files, Parts& parts, Random& random) {
  std::vector<std::string> names;
  for (const auto& [name, data] : files) {
    if (step_of_checkpoint(name)) names.push_back(name);
  }
  const std::string& name = names[below(random, names.size())];
  formats::Safetensors file = formats::decode_safetensors(files[name], name).value();
  Tensor& tensor = file.tensors[below(random, file.tensors.size())].tensor;
  if (tensor.bytes() == 0) return text_of("nothing of ", name);
  static_cast<uint8_t*>(tensor.raw())[below(random, tensor.bytes())] ^= static_cast<uint8_t>(1u << below(random, 8));
  files[name] = formats::encode_safetensors(file).value();
  claim_state(honest, file, *step_of_checkpoint(name), parts);
  return text_of("tensors of ", name);
}

std::string change_header(Parts& parts, Random& random) {
  Bytes bare(parts.header.begin(), parts.header.end() - 8);
  change_bytes(bare, random);
  const commit::Digest digest = commit::sha256(bare);
  insert(bare, bare.size(), Bytes(digest.begin(), digest.begin() + 8));
  parts.header = bare;
  return "header of the transcript";
}

// Group and name of what was changed.
std::pair<std::string, std::string> change_deeply(const Honest& honest, Files& files, Parts& parts, Random& random) {
  const uint64_t kinds = parts.segments.empty() ? 8 : 11;
  switch (below(random, kinds)) {
    case 0:
    case 1:
      return {"bytes of a leaf", change_leaf_bytes(parts, random)};
    case 2:
      return {"order of leaves", change_leaf_order(parts, random)};
    case 3:
    case 4:
      return {"field of a leaf", change_leaf_field(honest, parts, random)};
    case 5:
      return {"heads", change_heads(parts, random)};
    case 6:
      return {"header of the transcript", change_header(parts, random)};
    case 7:
      return {"tensors of a state", change_state(honest, files, parts, random)};
    default:
      return {"segment of the log", change_log(honest, parts, random)};
  }
}

std::string group_of(const std::string& name) {
  return name.starts_with(bundle::kCheckpointFolder) ? "a checkpoint" : name;
}

}  // namespace

const char* name_of(Mode mode) {
  return mode == Mode::kRaw ? "raw" : mode == Mode::kManifest ? "manifest signed again" : "deep";
}

Files read_run(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[fs::relative(entry.path(), folder).string()] = read_file(entry.path(), uint64_t{1} << 30).value();
  }
  return files;
}

Honest honest_of(const run::TrainRequest& request) {
  Honest honest{request.job, *request.trainer, read_run(request.out), {}};
  if (run::transcript_rules(request.job).logged) {
    platform::Engine engine(request.platform);
    const auto session = run::open_session(request.job, engine).value();
    honest.schema = runtime::logged_outputs(session.trainer->step_graph().graph, request.job.rounding.log);
  }
  return honest;
}

Files overwritten(const Honest& honest) {
  Files files = honest.files;
  Parts parts = parts_of(honest);
  const auto step = static_cast<uint64_t>(honest.job.steps);
  Bytes& checkpoint = files.at(text_of(bundle::kCheckpointFolder, "/", bundle::checkpoint_name(step)));
  formats::Safetensors file = formats::decode_safetensors(checkpoint, "checkpoint").value();
  static_cast<uint8_t*>(file.tensors.front().tensor.raw())[2] ^= 0x40;
  checkpoint = formats::encode_safetensors(file).value();
  claim_state(honest, file, step, parts);
  put_together(honest, parts, files);
  return files;
}

namespace {

Mutant mutate_once(const Honest& honest, Mode mode, Random& random) {
  Mutant out{honest.files, {}, {}};
  if (mode == Mode::kDeep) {
    Parts parts = parts_of(honest);
    std::tie(out.group, out.what) = change_deeply(honest, out.files, parts, random);
    put_together(honest, parts, out.files);
  } else {
    const std::string name = any_file(out.files, random);
    change_bytes(out.files[name], random);
    out.group = group_of(name);
    out.what = name;
    if (mode == Mode::kManifest) {
      if (name != "manifest.json") sign_manifest(honest, out.files, nullptr);
      if (name != "manifest.sig") sign_text(honest, out.files);
    }
  }
  out.what = text_of(name_of(mode), ": ", out.what);
  return out;
}

}  // namespace

Mutant mutate(const Honest& honest, Mode mode, Random& random) {
  Mutant out = mutate_once(honest, mode, random);
  while (out.files == honest.files) out = mutate_once(honest, mode, random);
  return out;
}

}  // namespace isobit::attacks
