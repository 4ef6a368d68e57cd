#include "isobit/lab/reveal/triples.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "isobit/base/text.h"
#include "isobit/lab/reveal/asker.h"

namespace isobit::lab::reveal {

namespace {

constexpr int64_t kCheckedTriples = 256;

// Do a and b meet before either meets c?
struct Triple {
  TreeId a, b, c;
};

class PositiveRevealer {
 public:
  PositiveRevealer(Summation& summation, const RevealOptions& options)
      : summation_(summation), asker_(summation), options_(options), random_(options.seed) {}

  Expected<Revealed> reveal() {
    const int64_t k = summation_.terms();
    std::vector<TreeId> all(static_cast<size_t>(k));
    std::iota(all.begin(), all.end(), 0);
    ISOBIT_TRY(const TreeId root, build(all));
    if (failed_) return std::move(*failed_);
    ISOBIT_CHECK(root == k + static_cast<int64_t>(nodes_.size()) - 1);
    SumTree tree(k, nodes_);
    ISOBIT_RETURN_IF_ERROR(check(tree));
    if (failed_) return std::move(*failed_);
    return Revealed{Verdict::kTree, std::move(tree), "", asker_.queries()};
  }

 private:
  void fail(Verdict verdict, std::string reason) {
    if (!failed_) failed_ = Revealed{verdict, std::nullopt, std::move(reason), asker_.queries()};
  }

  Expected<std::vector<bool>> ask(const std::vector<Triple>& triples) {
    const Format format = summation_.format();
    std::vector<Question> questions;
    for (const Triple& t : triples) {
      questions.push_back({.others = 0, .count = 3, .places = {{t.a, 1}, {t.b, 1}, {t.c, third_term(format)}}});
    }
    if (asker_.queries() + static_cast<int64_t>(questions.size()) > options_.most_queries) {
      fail(Verdict::kGaveUp, text_of("it takes more than ", options_.most_queries, " queries"));
      return std::vector<bool>(triples.size());
    }
    ISOBIT_TRY(const std::vector<double> sums, asker_.ask(questions));
    std::vector<bool> first(sums.size());
    for (size_t q = 0; q < sums.size(); ++q) first[q] = sums[q] > ones_met_first_above(format);
    return first;
  }

  // The node, or leaf, that has just these leaves below it.
  Expected<TreeId> build(const std::vector<TreeId>& leaves) {
    if (leaves.size() == 1 || failed_) return leaves[0];
    const TreeId pivot = leaves[random_() % leaves.size()];
    std::vector<TreeId> others;
    std::copy_if(leaves.begin(), leaves.end(), std::back_inserter(others), [&](TreeId id) { return id != pivot; });
    std::vector<std::vector<TreeId>> groups;
    ISOBIT_RETURN_IF_ERROR(sort(pivot, std::move(others), groups));
    TreeId part = pivot;
    for (const std::vector<TreeId>& group : groups) {
      if (failed_) return part;
      ISOBIT_TRY(const TreeId beside, build(group));
      nodes_.push_back({part, beside});
      part = static_cast<TreeId>(summation_.terms() + static_cast<int64_t>(nodes_.size()) - 1);
    }
    return part;
  }

  // Appends the others in groups, those first that meet the pivot first.
  Status sort(TreeId pivot, std::vector<TreeId> others, std::vector<std::vector<TreeId>>& groups) {
    if (others.empty() || failed_) return {};
    const TreeId middle = others[random_() % others.size()];
    std::vector<Triple> triples;
    for (const TreeId x : others) {
      if (x == middle) continue;
      triples.push_back({pivot, x, middle});
      triples.push_back({pivot, middle, x});
    }
    ISOBIT_TRY(const std::vector<bool> first, ask(triples));
    std::vector<TreeId> before, equal = {middle}, after;
    size_t at = 0, contradictions = 0;
    for (const TreeId x : others) {
      if (x == middle) continue;
      const bool sooner = first[at], later = first[at + 1];
      at += 2;
      contradictions += sooner && later;
      (sooner ? before : later ? after : equal).push_back(x);
    }
    if (contradictions == others.size() - 1 && contradictions > 0) {
      fail(Verdict::kNoUnitLost, "of three terms any two seem to meet first: partial sums are wider than the format");
    } else if (contradictions > 0) {
      fail(Verdict::kNotATree, text_of("of three terms two pairs seem to meet first, for term ", pivot));
    }
    ISOBIT_RETURN_IF_ERROR(sort(pivot, std::move(before), groups));
    groups.push_back(std::move(equal));
    return sort(pivot, std::move(after), groups);
  }

  Status check(const SumTree& tree) {
    const uint64_t k = static_cast<uint64_t>(tree.leaves());
    if (k < 3) return {};
    std::vector<Triple> triples;
    while (static_cast<int64_t>(triples.size()) < kCheckedTriples) {
      const Triple t = {static_cast<TreeId>(random_() % k), static_cast<TreeId>(random_() % k),
                        static_cast<TreeId>(random_() % k)};
      if (t.a != t.b && t.b != t.c && t.a != t.c) triples.push_back(t);
    }
    ISOBIT_TRY(const std::vector<bool> first, ask(triples));
    ISOBIT_TRY(const std::vector<bool> again, ask(triples));
    if (first != again) fail(Verdict::kVaries, "the same three terms met otherwise the second time");
    for (size_t q = 0; q < triples.size() && !failed_; ++q) {
      const auto [a, b, c] = triples[q];
      const bool expected = leaves_below_common_ancestor(tree, a, b) < leaves_below_common_ancestor(tree, a, c);
      if (first[q] != expected) {
        fail(Verdict::kNotATree, text_of("terms ", a, " and ", b, " meet ", first[q] ? "before" : "after", " term ", c,
                                         ", against the answers before"));
      }
    }
    return {};
  }

  Summation& summation_;
  Asker asker_;
  const RevealOptions options_;
  std::mt19937_64 random_;
  std::vector<std::vector<TreeId>> nodes_;
  std::optional<Revealed> failed_;
};

}  // namespace

double third_term(Format format) { return format == Format::kFloat32 ? 1.2f * 0x1p-23f : 1.2 * 0x1p-52; }

double ones_met_first_above(Format format) { return 2 + (format == Format::kFloat32 ? 0x1p-23 : 0.0); }

Expected<Revealed> reveal_positive_tree(Summation& summation, const RevealOptions& options) {
  if (summation.terms() < 1 || summation.terms() > kMostPositiveTerms) {
    return usage_error(
        text_of("found ", summation.terms(), " positive terms to add, expected 1 to ", kMostPositiveTerms));
  }
  return PositiveRevealer(summation, options).reveal();
}

}  // namespace isobit::lab::reveal
