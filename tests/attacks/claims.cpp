#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/record_file.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/job_root.h"
#include "tests/attacks/mutants.h"

namespace isobit::attacks {

namespace {

std::optional<uint64_t> step_of(const std::string& name) {
  const size_t prefix = bundle::kCheckpointFolder.size() + 1;
  if (!name.starts_with(bundle::kCheckpointFolder) || name.size() <= prefix) return std::nullopt;
  return bundle::checkpoint_step(std::string_view(name).substr(prefix));
}

std::vector<verify::Leaf> claims_of(const Honest& honest, const Bytes& transcript) {
  std::vector<verify::Leaf> leaves;
  const size_t header = bundle::transcript_header(run::transcript_rules(honest.job)).size();
  bundle::RecordCursor records(ByteView(transcript).subspan(std::min(header, transcript.size())),
                               verify::kMaxLeafBytes);
  while (const auto bytes = records.next()) {
    auto leaf = verify::decode_leaf(*bytes, run::transcript_rules(honest.job), "leaf");
    if (!leaf) return {};
    if (auto* step = std::get_if<verify::StepLeaf>(&*leaf)) step->log_segment.reset();
    leaves.push_back(*leaf);
  }
  return leaves;
}

bool same_claims(const std::vector<verify::Leaf>& a, const std::vector<verify::Leaf>& b) {
  return std::ranges::equal(a, b, [](const verify::Leaf& x, const verify::Leaf& y) { return x == y; });
}

bool same_tensors(const Bytes& a, const Bytes& b) {
  const auto left = formats::decode_safetensors(a, "a"), right = formats::decode_safetensors(b, "b");
  if (!left || !right || left->tensors.size() != right->tensors.size()) return false;
  for (size_t i = 0; i < left->tensors.size(); ++i) {
    const NamedTensor &x = left->tensors[i], &y = right->tensors[i];
    if (x.name != y.name || x.tensor.dtype() != y.tensor.dtype() || x.tensor.shape() != y.tensor.shape()) return false;
    if (x.tensor.bytes() > 0 && std::memcmp(x.tensor.raw(), y.tensor.raw(), x.tensor.bytes()) != 0) return false;
  }
  return true;
}

}  // namespace

std::string false_claim(const Honest& honest, const Files& mutant) {
  for (const char* name : {"job.toml", "engagement", "transcript", "heads"}) {
    if (!mutant.contains(name)) return text_of("no ", name);
  }
  if (mutant.at("engagement") != honest.files.at("engagement")) return "another engagement";
  const Bytes& toml = mutant.at("job.toml");
  const auto job = train::parse_job({reinterpret_cast<const char*>(toml.data()), toml.size()}, "job.toml", "", {});
  if (!job || run::job_digest(*job) != run::job_digest(honest.job)) return "another job";
  if (!same_claims(claims_of(honest, mutant.at("transcript")), claims_of(honest, honest.files.at("transcript")))) {
    return "other leaves";
  }
  bool final = false;
  for (const auto& [name, data] : mutant) {
    const auto step = step_of(name);
    if (!step) continue;
    final |= *step == static_cast<uint64_t>(honest.job.steps);
    if (!honest.files.contains(name) || !same_tensors(data, honest.files.at(name))) return text_of("another ", name);
  }
  return final ? "" : "no final checkpoint";
}

}  // namespace isobit::attacks
