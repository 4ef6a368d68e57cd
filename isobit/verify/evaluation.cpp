#include "isobit/verify/evaluation.h"

#include <algorithm>
#include <bit>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/numerics/exact_total.h"

namespace isobit::verify {
namespace {

using numerics::ExactTotal;
using train::Metric;
using train::MetricSum;

constexpr std::string_view kTreeTag = "isobit.evaluation", kSampleTag = "isobit.evaluation-sample",
                           kNodeTag = "isobit.evaluation-node", kProofTag = "isobit.sample-proof";
constexpr uint32_t kEvaluationVersion = 1;
constexpr size_t kSumBytes = 1 + ExactTotal::kBytes + 8;

void write_sum(ByteWriter& writer, const MetricSum& sum) {
  writer.u8(static_cast<uint8_t>(sum.sum.kind()));
  writer.fixed(sum.sum.bytes());
  writer.u64(sum.count);
}

void write_node(ByteWriter& writer, const EvaluationNode& node) {
  writer.fixed(node.hash);
  for (const MetricSum& sum : node.sums) write_sum(writer, sum);
}

Expected<MetricSum> read_sum(ByteReader& reader) {
  ISOBIT_TRY(const uint8_t kind, reader.u8("sum"));
  ISOBIT_TRY(const ByteView bytes, reader.fixed("sum", ExactTotal::kBytes));
  const auto total = ExactTotal::from_bytes(kind, bytes.first<ExactTotal::kBytes>());
  if (!total) {
    return reader.fail("sum", kind > static_cast<uint8_t>(ExactTotal::Kind::kNan)
                                  ? text_of("found kind ", kind, ", expected 0 (finite), 1, 2 (infinite) or 3 (NaN)")
                                  : "is not finite, and its value is not zero");
  }
  ISOBIT_TRY(const uint64_t count, reader.u64("count"));
  return MetricSum{*total, count};
}

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'; }

// From the sample upwards: whether each sibling stands on the left. REQUIRES sample < samples.
std::vector<bool> left_siblings(uint64_t sample, uint64_t samples) {
  std::vector<bool> sides;  // from the root downwards
  while (samples > 1) {
    const uint64_t left = std::bit_floor(samples - 1);
    sides.push_back(sample >= left);
    if (sample >= left) {
      sample -= left;
      samples -= left;
    } else {
      samples = left;
    }
  }
  std::reverse(sides.begin(), sides.end());
  return sides;
}

}  // namespace

std::string metrics_problem(const std::vector<Metric>& metrics) {
  if (metrics.size() > kMaxMetrics) return text_of("has ", metrics.size(), " metrics, expected at most ", kMaxMetrics);
  for (size_t i = 0; i < metrics.size(); ++i) {
    const std::string& name = metrics[i].name;
    if (name.empty() || name.size() > kMaxMetricName || !std::ranges::all_of(name, is_plain)) {
      return text_of("the name of metric ", i, " is not 1 to ", kMaxMetricName, " of a-z, 0-9, '.', '_' and '-'");
    }
    if (i > 0 && metrics[i - 1].name >= name) return text_of("metric ", i, " is not in its order by name");
  }
  return {};
}

void write_evaluation(ByteWriter& writer, const Evaluation& evaluation) {
  writer.u64(evaluation.samples);
  writer.fixed(evaluation.tree);
  writer.u64(evaluation.metrics.size());
  for (const Metric& metric : evaluation.metrics) {
    writer.text(metric.name);
    write_sum(writer, metric.total);
  }
}

Expected<Evaluation> read_evaluation(ByteReader& reader) {
  Evaluation e;
  ISOBIT_TRY(e.samples, reader.u64("samples"));
  ISOBIT_TRY(e.tree, commit::read_digest(reader, "tree"));
  ISOBIT_TRY(const uint64_t count, reader.u64("metrics"));
  if (count > kMaxMetrics) {
    return reader.fail("metrics", text_of("found ", count, ", expected at most ", kMaxMetrics));
  }
  for (uint64_t i = 0; i < count; ++i) {
    Metric metric;
    ISOBIT_TRY(metric.name, reader.text("metric", kMaxMetricName));
    ISOBIT_TRY(metric.total, read_sum(reader));
    e.metrics.push_back(std::move(metric));
  }
  const std::string problem = metrics_problem(e.metrics);
  if (!problem.empty()) return reader.fail("metrics", problem);
  return e;
}

std::string text_of_evaluation(const Evaluation& evaluation) {
  std::string out = text_of(evaluation.samples, " samples");
  for (const Metric& m : evaluation.metrics) {
    out += text_of(", ", m.name, " ", train::value_of(m), " of ", m.total.count);
  }
  return out + ", tree " + commit::hex_of(evaluation.tree);
}

void write(ByteWriter& writer, const std::vector<MetricSum>& sums) {
  for (const MetricSum& sum : sums) write_sum(writer, sum);
}

Expected<std::vector<MetricSum>> read_sums(ByteReader& reader, uint64_t count) {
  std::vector<MetricSum> sums;
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(const MetricSum sum, read_sum(reader));
    sums.push_back(sum);
  }
  return sums;
}

commit::Digest tree_digest(uint64_t samples, const std::vector<std::string>& names, const EvaluationNode& root) {
  ByteWriter writer;
  writer.u64(samples);
  writer.u64(names.size());
  for (const std::string& name : names) writer.text(name);
  write_node(writer, root);
  return commit::tagged_hash(kTreeTag, kEvaluationVersion, writer.view());
}

EvaluationNode sample_node(uint64_t sample, std::vector<MetricSum> sums) {
  ByteWriter writer;
  writer.u64(sample);
  write(writer, sums);
  return {commit::tagged_hash(kSampleTag, kEvaluationVersion, writer.view()), std::move(sums)};
}

Expected<EvaluationNode> joined(const EvaluationNode& left, const EvaluationNode& right) {
  if (left.sums.size() != right.sums.size()) {
    return rejected(text_of("evaluation: found nodes of ", left.sums.size(), " and ", right.sums.size(), " sums"));
  }
  EvaluationNode node{{}, left.sums};
  for (size_t i = 0; i < node.sums.size(); ++i) {
    MetricSum& sum = node.sums[i];
    sum.count += right.sums[i].count;
    if (sum.count < right.sums[i].count || !sum.sum.add(right.sums[i].sum)) {
      return rejected(text_of("evaluation: sum ", i, " of a node is larger than any scores add up to"));
    }
  }
  node.hash = hash_above(left, right);
  return node;
}

commit::Digest hash_above(const EvaluationNode& left, const EvaluationNode& right) {
  ByteWriter writer;
  write_node(writer, left);
  write_node(writer, right);
  return commit::tagged_hash(kNodeTag, kEvaluationVersion, writer.view());
}

EvaluationTree::EvaluationTree(const train::SampleScores& evaluation)
    : names_(evaluation.metrics), samples_(evaluation.samples()) {
  std::vector<EvaluationNode> level;
  for (uint64_t i = 0; i < samples_; ++i) {
    const auto sums = evaluation.of_sample(i);
    level.push_back(sample_node(i, {sums.begin(), sums.end()}));
  }
  if (level.empty()) level.push_back({{}, std::vector<MetricSum>(names_.size())});
  levels_.push_back(std::move(level));
  // A last node without a partner moves up unchanged, which is the shape of RFC 6962.
  while (levels_.back().size() > 1) {
    const auto& below = levels_.back();
    std::vector<EvaluationNode> above;
    for (size_t i = 0; i + 1 < below.size(); i += 2) {
      auto node = joined(below[i], below[i + 1]);
      ISOBIT_CHECK(node.has_value());  // sums of float32 values
      above.push_back(*std::move(node));
    }
    if (below.size() % 2 != 0) above.push_back(below.back());
    levels_.push_back(std::move(above));
  }
}

Evaluation EvaluationTree::evaluation() const {
  const EvaluationNode& root = levels_.back().front();
  Evaluation out{samples_, tree_digest(samples_, names_, root), {}};
  for (size_t i = 0; i < names_.size(); ++i) out.metrics.push_back({names_[i], root.sums[i]});
  ISOBIT_CHECK(metrics_problem(out.metrics).empty());
  return out;
}

SampleProof EvaluationTree::prove(uint64_t sample) const {
  ISOBIT_CHECK(sample < samples_);
  SampleProof proof{sample, samples_, levels_.front()[sample].sums, {}};
  for (size_t depth = 0, at = sample; depth + 1 < levels_.size(); ++depth, at /= 2) {
    const size_t sibling = at ^ 1;
    if (sibling < levels_[depth].size()) proof.path.push_back(levels_[depth][sibling]);
  }
  return proof;
}

const EvaluationNode& EvaluationTree::node(uint64_t begin, uint64_t size) const {
  const auto level = static_cast<size_t>(std::bit_width(size - 1));
  return levels_[level][begin >> level];
}

Status verify_sample(const SampleProof& proof, const Evaluation& evaluation) {
  constexpr const char* kWhat = "sample proof";
  if (proof.samples != evaluation.samples || proof.sample >= proof.samples) {
    return rejected(text_of(kWhat, ": is of sample ", proof.sample, " of ", proof.samples, ", the evaluation has ",
                            evaluation.samples, " samples"));
  }
  const std::vector<bool> left = left_siblings(proof.sample, proof.samples);
  if (proof.path.size() != left.size()) {
    return rejected(text_of(kWhat, ": found ", proof.path.size(), " nodes, expected ", left.size()));
  }
  EvaluationNode node = sample_node(proof.sample, proof.sums);
  for (size_t i = 0; i < left.size(); ++i) {
    ISOBIT_TRY(node, left[i] ? joined(proof.path[i], node) : joined(node, proof.path[i]));
  }
  std::vector<std::string> names;
  std::vector<MetricSum> totals;
  for (const Metric& metric : evaluation.metrics) {
    names.push_back(metric.name);
    totals.push_back(metric.total);
  }
  if (node.sums != totals) return rejected(text_of(kWhat, ": the sums do not add up to those of the final leaf"));
  if (tree_digest(proof.samples, names, node) != evaluation.tree) {
    return rejected(text_of(kWhat, ": sample ", proof.sample, " does not lead to the tree of the final leaf"));
  }
  return {};
}

Bytes encode(const SampleProof& proof) {
  ByteWriter writer;
  write_frame(writer, kProofTag, kEvaluationVersion);
  writer.u64(proof.sample);
  writer.u64(proof.samples);
  writer.u64(proof.sums.size());
  write(writer, proof.sums);
  for (const EvaluationNode& node : proof.path) write_node(writer, node);
  return writer.take();
}

Expected<SampleProof> decode_sample_proof(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kProofTag, kEvaluationVersion));
  SampleProof proof;
  ISOBIT_TRY(proof.sample, reader.u64("sample"));
  ISOBIT_TRY(proof.samples, reader.u64("samples"));
  if (proof.sample >= proof.samples) {
    return reader.fail("sample", text_of("found ", proof.sample, ", expected below ", proof.samples));
  }
  ISOBIT_TRY(const uint64_t sums, reader.u64("metrics"));
  if (sums > kMaxMetrics) return reader.fail("metrics", text_of("found ", sums, ", expected at most ", kMaxMetrics));
  const size_t nodes = left_siblings(proof.sample, proof.samples).size();
  const size_t expected = sums * kSumBytes + nodes * (sizeof(commit::Digest) + sums * kSumBytes);
  if (reader.remaining() != expected) {
    return reader.fail("path", text_of("found ", reader.remaining(), " bytes, expected ", expected,
                                       ": the sums of the sample and ", nodes, " nodes"));
  }
  ISOBIT_TRY(proof.sums, read_sums(reader, sums));
  for (size_t i = 0; i < nodes; ++i) {
    EvaluationNode node;
    ISOBIT_TRY(node.hash, commit::read_digest(reader, "path"));
    ISOBIT_TRY(node.sums, read_sums(reader, sums));
    proof.path.push_back(std::move(node));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return proof;
}

}  // namespace isobit::verify
