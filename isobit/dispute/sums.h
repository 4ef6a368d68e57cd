// Exact sums over a tree, gone down together (verify/evaluation.h has the tree of an evaluation's samples; one of the
// values of a single sample is like it). What is shown of a subtree says the sums of every node between, so that one
// that its children do not add up to convicts whoever stands by it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/dispute/descent.h"
#include "isobit/verify/evaluation.h"

namespace isobit::dispute {

// Of a subtree: the sums of the nodes above its parts (parts_of()), each before what is below it, left to right; and
// the parts themselves. A leaf is its only part.
struct SumsShowing {
  std::vector<std::vector<train::MetricSum>> above;
  std::vector<verify::EvaluationNode> parts;
  bool operator==(const SumsShowing&) const = default;

  // REQUIRES a subtree of the tree.
  static SumsShowing of(const verify::EvaluationTree& tree, const Subtree& part);
};

void write(ByteWriter& writer, const SumsShowing& shown);
Expected<SumsShowing> read_sums_showing(ByteReader& reader, const std::string& what);

// What is shown, as a claim.
struct ClaimedSums {
  verify::EvaluationNode top;        // its hash follows from what is below it
  std::optional<Subtree> false_sum;  // the first node whose sums are not those of what is below it
};
// kRejected unless these are the nodes of such a subtree, with so many sums each.
Expected<ClaimedSums> claimed_sums(const Subtree& tree, const SumsShowing& shown, size_t sums);

}  // namespace isobit::dispute
