#include "tests/attacks/mutants.h"

#include <algorithm>
#include <tuple>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/job_root.h"
#include "isobit/run/step_logs.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/verify/log_tree.h"
#include "tests/attacks/bytes.h"
#include "tests/attacks/parts.h"

namespace isobit::attacks {
namespace {

std::string any_file(const Files& files, Random& random) {
  return std::next(files.begin(), static_cast<std::ptrdiff_t>(below(random, files.size())))->first;
}

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
