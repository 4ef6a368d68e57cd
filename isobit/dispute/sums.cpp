#include "isobit/dispute/sums.h"

#include <algorithm>
#include <bit>

#include "isobit/base/text.h"

namespace isobit::dispute {
namespace {

using verify::EvaluationNode;

Subtree left_of(const Subtree& tree) { return {tree.begin, std::bit_floor(tree.size - 1)}; }
Subtree right_of(const Subtree& tree) {
  const uint64_t left = left_of(tree).size;
  return {tree.begin + left, tree.size - left};
}

void show(const verify::EvaluationTree& tree, const Subtree& part, int levels, SumsShowing& out) {
  const EvaluationNode& node = tree.node(part.begin, part.size);
  if (levels == 0 || part.size < 2) {
    out.parts.push_back(node);
    return;
  }
  out.above.push_back(node.sums);
  show(tree, left_of(part), levels - 1, out);
  show(tree, right_of(part), levels - 1, out);
}

// One reading of a claim, from the left.
class Claim {
 public:
  explicit Claim(const SumsShowing& shown) : shown_(shown) {}

  EvaluationNode node(const Subtree& tree, int levels) {
    if (levels == 0 || tree.size < 2) return part(tree);
    EvaluationNode claimed{{}, shown_.above[above_++]};
    const EvaluationNode left = node(left_of(tree), levels - 1), right = node(right_of(tree), levels - 1);
    claimed.hash = verify::hash_above(left, right);
    const auto right_sums = verify::joined(left, right);
    if (!right_sums || right_sums->sums != claimed.sums) note(tree);
    return claimed;
  }
  const std::optional<Subtree>& false_sum() const { return false_sum_; }

 private:
  const EvaluationNode& part(const Subtree& tree) {
    const EvaluationNode& part = shown_.parts[parts_++];
    if (tree.size == 1 && verify::sample_node(tree.begin, part.sums).hash != part.hash) note(tree);
    return part;
  }
  void note(const Subtree& tree) {
    if (!false_sum_) false_sum_ = tree;
  }

  const SumsShowing& shown_;
  size_t above_ = 0, parts_ = 0;
  std::optional<Subtree> false_sum_;
};

constexpr uint64_t kMostNodes = uint64_t{1} << kLevels;

}  // namespace

SumsShowing SumsShowing::of(const verify::EvaluationTree& tree, const Subtree& part) {
  SumsShowing shown;
  show(tree, part, kLevels, shown);
  return shown;
}

Expected<ClaimedSums> claimed_sums(const Subtree& tree, const SumsShowing& shown, size_t sums) {
  const size_t parts = parts_of(tree).size();
  const auto fits = [&](const std::vector<train::MetricSum>& of) { return of.size() == sums; };
  if (shown.parts.size() != parts || shown.above.size() != parts - 1 || !std::ranges::all_of(shown.above, fits) ||
      !std::ranges::all_of(shown.parts, fits, &EvaluationNode::sums)) {
    return rejected(
        text_of("expected ", parts, " parts and ", parts - 1, " nodes above them, each of ", sums, " sums"));
  }
  Claim claim(shown);
  ClaimedSums claimed;
  claimed.top = claim.node(tree, kLevels);
  claimed.false_sum = claim.false_sum();
  return claimed;
}

// All nodes have equally many sums.
void write(ByteWriter& w, const SumsShowing& shown) {
  w.u64(shown.parts.empty() ? 0 : shown.parts.front().sums.size());
  w.u64(shown.above.size());
  for (const auto& sums : shown.above) verify::write(w, sums);
  w.u64(shown.parts.size());
  for (const EvaluationNode& part : shown.parts) {
    w.fixed(part.hash);
    verify::write(w, part.sums);
  }
}

Expected<SumsShowing> read_sums_showing(ByteReader& r, const std::string&) {
  SumsShowing shown;
  ISOBIT_TRY(const uint64_t sums, r.u64("sums"));
  if (sums > verify::kMaxMetrics) {
    return r.fail("sums", text_of("found ", sums, ", expected at most ", verify::kMaxMetrics));
  }
  ISOBIT_TRY(const uint64_t above, r.u64("nodes"));
  if (above > kMostNodes) return r.fail("nodes", text_of("found ", above, ", expected at most ", kMostNodes));
  for (uint64_t i = 0; i < above; ++i) {
    ISOBIT_TRY(auto read, verify::read_sums(r, sums));
    shown.above.push_back(std::move(read));
  }
  ISOBIT_TRY(const uint64_t parts, r.u64("parts"));
  if (parts > kMostNodes) return r.fail("parts", text_of("found ", parts, ", expected at most ", kMostNodes));
  for (uint64_t i = 0; i < parts; ++i) {
    EvaluationNode part;
    ISOBIT_TRY(part.hash, commit::read_digest(r, "part"));
    ISOBIT_TRY(part.sums, verify::read_sums(r, sums));
    shown.parts.push_back(std::move(part));
  }
  if (parts == 0 && sums != 0) return r.fail("sums", text_of("found ", sums, " of no node"));
  return shown;
}

}  // namespace isobit::dispute
