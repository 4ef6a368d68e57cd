// The evaluation that the final leaf commits to: exact totals, and a tree over the samples in which every node binds
// the sums of what is below it, so that a dispute about a total can descend to one sample. Byte layout:
// docs/formats/evaluation.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/train/evaluation.h"

namespace isobit::verify {

inline constexpr uint64_t kMaxMetrics = 8;
inline constexpr uint64_t kMaxMetricName = 32;

struct Evaluation {
  uint64_t samples = 0;
  commit::Digest tree{};               // EvaluationTree::digest()
  std::vector<train::Metric> metrics;  // at most kMaxMetrics, strictly increasing by name
  bool operator==(const Evaluation&) const = default;
};

// What is wrong with the metrics: too many, a name that is empty, too long, out of order or not of a-z 0-9 . _ -
// Empty when nothing is.
std::string metrics_problem(const std::vector<train::Metric>& metrics);

void write_evaluation(ByteWriter& writer, const Evaluation& evaluation);
// Accepts exactly what write_evaluation writes of metrics without a problem.
Expected<Evaluation> read_evaluation(ByteReader& reader);

// For people: the values of the metrics, and the tree, which differs wherever any sum does.
std::string text_of_evaluation(const Evaluation& evaluation);

// A node of the tree: one sample, or everything below.
struct EvaluationNode {
  commit::Digest hash{};
  std::vector<train::MetricSum> sums;
  bool operator==(const EvaluationNode&) const = default;
};

// Sums as write_evaluation has them; a node is its hash and they.
void write(ByteWriter& writer, const std::vector<train::MetricSum>& sums);
Expected<std::vector<train::MetricSum>> read_sums(ByteReader& reader, uint64_t count);

EvaluationNode sample_node(uint64_t sample, std::vector<train::MetricSum> sums);
// kRejected when the nodes have different numbers of sums, or sums that no scores add up to (beyond 384 bits).
Expected<EvaluationNode> joined(const EvaluationNode& left, const EvaluationNode& right);
// The hash of a node above two, whatever sums it claims.
commit::Digest hash_above(const EvaluationNode& left, const EvaluationNode& right);
// Evaluation::tree of so many samples, these metrics and this root.
commit::Digest tree_digest(uint64_t samples, const std::vector<std::string>& names, const EvaluationNode& root);

// That a sample stands in the tree with these sums. path: siblings from the sample upwards (the tree has the shape of
// RFC 6962).
struct SampleProof {
  uint64_t sample = 0;
  uint64_t samples = 0;
  std::vector<train::MetricSum> sums;
  std::vector<EvaluationNode> path;
  bool operator==(const SampleProof&) const = default;
};

class EvaluationTree {
 public:
  // Of metrics that have no problem.
  explicit EvaluationTree(const train::SampleScores& evaluation);
  Evaluation evaluation() const;
  uint64_t samples() const { return samples_; }
  // REQUIRES sample < samples().
  SampleProof prove(uint64_t sample) const;
  // Of the samples [begin, begin + size). REQUIRES a subtree.
  const EvaluationNode& node(uint64_t begin, uint64_t size) const;

 private:
  std::vector<std::string> names_;
  uint64_t samples_ = 0;
  std::vector<std::vector<EvaluationNode>> levels_;  // of samples, then of their parents, up to the root
};

// kRejected with the reason unless the proof leads to exactly this evaluation: its tree and its totals.
Status verify_sample(const SampleProof& proof, const Evaluation& evaluation);

// Canonical bytes; the decoder takes no others, and allocates nothing that the data do not hold.
Bytes encode(const SampleProof& proof);
Expected<SampleProof> decode_sample_proof(ByteView data, const std::string& what);

}  // namespace isobit::verify
