#include "isobit/lab/reveal/reveal.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "isobit/base/text.h"
#include "isobit/lab/reveal/asker.h"
#include "isobit/lab/reveal/assemble.h"

namespace isobit::lab::reveal {

namespace {

constexpr int64_t kCheckedPairs = 64;

// The question whose answer is the number of leaves outside the common subtree of i and j.
Question pair_question(Format format, TreeId i, TreeId j) {
  const double huge = format == Format::kFloat32 ? 0x1p126 : 0x1p1000;
  return {.others = 1, .count = 2, .places = {{i, huge}, {j, -huge}}};
}

class Revealer {
 public:
  Revealer(Summation& summation, const RevealOptions& options)
      : summation_(summation), asker_(summation), options_(options), random_(options.seed) {}

  Expected<Revealed> reveal() {
    const int64_t k = summation_.terms();
    if (k == 1) return tree_of(SumTree());
    sets_.push_back({});
    sets_[0].leaves.resize(static_cast<size_t>(k));
    std::iota(sets_[0].leaves.begin(), sets_[0].leaves.end(), 0);
    for (size_t done = 0; done < sets_.size() && !failed_;) {
      const size_t level_end = sets_.size();
      ISOBIT_RETURN_IF_ERROR(split(done, level_end));
      done = level_end;
    }
    if (failed_) return std::move(*failed_);
    Assembled assembled = assemble(k, sets_);
    if (!assembled.tree) return fail(Verdict::kNotATree, assembled.reason);
    ISOBIT_RETURN_IF_ERROR(check(*assembled.tree));
    if (failed_) return std::move(*failed_);
    return tree_of(std::move(*assembled.tree));
  }

 private:
  Revealed tree_of(SumTree tree) { return {Verdict::kTree, std::move(tree), "", asker_.queries()}; }
  Revealed fail(Verdict verdict, std::string reason) {
    failed_ = Revealed{verdict, std::nullopt, std::move(reason), asker_.queries()};
    return *failed_;
  }

  // The number of leaves below the common ancestor of i and j; 0 with failed_ set where the sum is no count.
  int64_t count_of(double sum, TreeId i, TreeId j) {
    const int64_t k = summation_.terms();
    const double rounded = std::round(sum);
    // A mean is the sum times a rounded 1/K: it may be off by some units of its last place.
    if (!(std::abs(sum - rounded) <= 1e-3) || rounded < 0 || rounded > static_cast<double>(k - 2)) {
      fail(Verdict::kNotATree, text_of("with a huge number at ", i, " and its negative at ", j, " the other ", k - 2,
                                       " units came to ", sum, ", which is no count of them"));
      return 0;
    }
    return k - static_cast<int64_t>(rounded);
  }

  // Asks about sets [begin, end) in one batch, and appends their subtrees' sets.
  Status split(size_t begin, size_t end) {
    std::vector<Question> questions;
    for (size_t s = begin; s < end; ++s) {
      LeafSet& set = sets_[s];
      set.pivot = set.leaves[random_() % set.leaves.size()];
      for (const TreeId j : set.leaves) {
        if (j != set.pivot) questions.push_back(pair_question(summation_.format(), set.pivot, j));
      }
    }
    if (asker_.queries() + static_cast<int64_t>(questions.size()) > options_.most_queries) {
      fail(Verdict::kGaveUp, text_of("it takes more than ", options_.most_queries, " queries"));
      return {};
    }
    ISOBIT_TRY(const std::vector<double> sums, asker_.ask(questions));
    if (begin == 0 && no_unit_lost(sums)) return {};
    size_t at = 0;
    for (size_t s = begin; s < end && !failed_; ++s) {
      std::vector<std::pair<int64_t, TreeId>> counted;
      for (const TreeId j : sets_[s].leaves) {
        if (j != sets_[s].pivot) counted.emplace_back(count_of(sums[at++], sets_[s].pivot, j), j);
      }
      append_groups(s, std::move(counted));
    }
    return {};
  }

  bool no_unit_lost(const std::vector<double>& sums) {
    const int64_t k = summation_.terms();
    if (k < 3) return false;
    for (const double sum : sums) {
      if (!(std::abs(sum - static_cast<double>(k - 2)) <= 1e-3)) return false;
    }
    fail(Verdict::kNoUnitLost, text_of("every one of the other ", k - 2,
                                       " units survived beside a huge number and its negative, wherever "
                                       "they stood: nothing is rounded before the end"));
    return true;
  }

  void append_groups(size_t s, std::vector<std::pair<int64_t, TreeId>> counted) {
    std::sort(counted.begin(), counted.end());
    for (size_t first = 0; first < counted.size();) {
      LeafSet group;
      size_t last = first;
      for (; last < counted.size() && counted[last].first == counted[first].first; ++last) {
        group.leaves.push_back(counted[last].second);
      }
      sets_[s].groups.push_back({counted[first].first, sets_.size()});
      sets_.push_back(std::move(group));
      first = last;
    }
  }

  // Pairs drawn at random, each twice: do they say what the tree says?
  Status check(const SumTree& tree) {
    std::vector<Question> questions;
    std::vector<std::pair<TreeId, TreeId>> pairs;
    const uint64_t k = static_cast<uint64_t>(tree.leaves());
    for (int64_t p = 0; p < kCheckedPairs; ++p) {
      const TreeId i = static_cast<TreeId>(random_() % k);
      const TreeId j = static_cast<TreeId>((static_cast<uint64_t>(i) + 1 + random_() % (k - 1)) % k);
      pairs.emplace_back(i, j);
      questions.push_back(pair_question(summation_.format(), i, j));
    }
    ISOBIT_TRY(const std::vector<double> sums, asker_.ask(questions));
    ISOBIT_TRY(const std::vector<double> again, asker_.ask(questions));
    for (size_t p = 0; p < pairs.size() && !failed_; ++p) {
      const auto [i, j] = pairs[p];
      const int64_t count = count_of(sums[p], i, j), expected = leaves_below_common_ancestor(tree, i, j);
      if (failed_) break;
      if (sums[p] != again[p]) {
        fail(Verdict::kVaries, text_of("the same sum came to ", sums[p], " and then to ", again[p]));
      } else if (count != expected) {
        fail(Verdict::kNotATree, text_of("terms ", i, " and ", j, " meet in a sum of ", count,
                                         " terms, where the answers before have ", expected));
      }
    }
    return {};
  }

  Summation& summation_;
  Asker asker_;
  const RevealOptions options_;
  std::mt19937_64 random_;
  std::vector<LeafSet> sets_;
  std::optional<Revealed> failed_;
};

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kTree:
      return "tree";
    case Verdict::kNoUnitLost:
      return "no unit lost";
    case Verdict::kNotATree:
      return "not a tree";
    case Verdict::kVaries:
      return "varies";
    case Verdict::kGaveUp:
      return "gave up";
  }
  return "";
}

Expected<Revealed> reveal_tree(Summation& summation, const RevealOptions& options) {
  if (summation.terms() < 1 || summation.terms() > kMostTerms) {
    return usage_error(text_of("found ", summation.terms(), " terms to add, expected 1 to ", kMostTerms));
  }
  return Revealer(summation, options).reveal();
}

}  // namespace isobit::lab::reveal
