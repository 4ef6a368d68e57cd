#include "isobit/judge/reduction.h"

#include <algorithm>
#include <optional>

#include "isobit/base/text.h"
#include "isobit/judge/formula.h"
#include "isobit/judge/words.h"

namespace isobit::judge {
namespace {

using Sources = std::vector<graph::ElementSource>;

tl::unexpected<Error> no_state() { return unreadable("these words are no state of the sum at this chunk"); }

Status check_count(size_t values, size_t needs) {
  if (values == needs) return {};
  return unreadable(text_of(values, " values, expected ", needs));
}

// What both kinds share: chunks as the terms that they begin with, the last entry behind all.
class Chunked : public Reduction {
 public:
  int64_t terms() const override { return begins_.back(); }
  int64_t chunks() const override { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t chunk_begin(int64_t chunk) const override { return begins_[static_cast<size_t>(chunk)]; }

 protected:
  std::vector<int64_t> begins_ = {0};
};

template <class T>
class FormulaReduction final : public Chunked {
 public:
  FormulaReduction(const Question& q, Plan plan) : plan_(std::move(plan)), shape_(q, plan_), q_(q) {
    while (begins_.back() < shape_.terms()) begins_.push_back(std::min(begins_.back() + kMostTerms, shape_.terms()));
  }

  Sources once() const override { return needs_between(plan_, 0, first_need(0)); }
  Sources needs(int64_t chunk) const override {
    return needs_between(plan_, first_need(chunk_begin(chunk)), first_need(chunk_begin(chunk + 1)));
  }

  State begin(std::span<const Bits> once) const override {
    FormulaRun<T> run(q_, plan_);
    return run.begin(once).words();
  }

  Expected<State> partial(std::span<const Bits> once, int64_t chunk, std::span<const Bits> values,
                          const State& before) const override {
    ISOBIT_RETURN_IF_ERROR(check_count(once.size(), shape_.once()));
    const int64_t first = chunk_begin(chunk), last = chunk_begin(chunk + 1);
    ISOBIT_RETURN_IF_ERROR(check_count(values.size(), static_cast<size_t>(last - first) * shape_.each()));
    FormulaRun<T> run(q_, plan_);
    FoldState<T> state = run.begin(once);
    if (!state.restore(before) || state.count() != first) return no_state();
    const Sources from = needs(chunk);
    for (int64_t p = first; p < last; ++p) {
      const size_t at = static_cast<size_t>(p - first) * shape_.each();
      run.add(state, p, &from[at], values.subspan(at, shape_.each()));
    }
    return state.words();
  }

  Expected<Bits> finish(std::span<const Bits> once, const State& behind) const override {
    ISOBIT_RETURN_IF_ERROR(check_count(once.size(), shape_.once()));
    FormulaRun<T> run(q_, plan_);
    FoldState<T> state = run.begin(once);
    if (!state.restore(behind) || state.count() != terms()) return no_state();
    return run.finish(state);
  }

 private:
  int64_t first_need(int64_t term) const {
    return static_cast<int64_t>(shape_.once()) + term * static_cast<int64_t>(shape_.each());
  }

  const Plan plan_;
  const FormulaRun<T> shape_;
  const Question& q_;
};

// The number of terms so far stands before the words of the sum.
template <class Sum, class T>
class ProductReduction final : public Chunked {
 public:
  explicit ProductReduction(Plan plan) : plan_(std::move(plan)) {
    const ProductTerms& terms = plan_.product;
    int64_t end_of_written = 0;
    while (begins_.back() < terms.count) {
      const int64_t most = std::min(begins_.back() + kMostTerms, terms.count);
      int64_t end = begins_.back();
      while (end < most) {
        end_of_written = end;
        while (end_of_written < terms.count && terms.order.chunk_of(end_of_written) == terms.order.chunk_of(end)) {
          ++end_of_written;
        }
        if (end_of_written > most) break;
        end = end_of_written;
      }
      begins_.push_back(end == begins_.back() ? most : end);
    }
  }

  Sources once() const override { return plan_.product.bias >= 0 ? Sources{{2, plan_.product.bias}} : Sources{}; }
  Sources needs(int64_t chunk) const override {
    return sources_of(plan_.product, chunk_begin(chunk), chunk_begin(chunk + 1));
  }

  State begin(std::span<const Bits>) const override { return words_of(0, Sum()); }

  Expected<State> partial(std::span<const Bits>, int64_t chunk, std::span<const Bits> values,
                          const State& before) const override {
    ISOBIT_RETURN_IF_ERROR(check_count(values.size(), needs(chunk).size()));
    const int64_t first = chunk_begin(chunk), last = chunk_begin(chunk + 1);
    std::optional<Sum> sum = restored(before, first);
    if (!sum) return no_state();
    add_terms<Sum, T>(*sum, plan_.product, values, first, last);
    return words_of(last, *sum);
  }

  Expected<Bits> finish(std::span<const Bits> once, const State& behind) const override {
    ISOBIT_RETURN_IF_ERROR(check_count(once.size(), plan_.product.bias >= 0 ? 1 : 0));
    const std::optional<Sum> sum = restored(behind, terms());
    if (!sum) return no_state();
    const T bias = once.empty() ? T(0) : from_word<T>(once[0]);
    return word_of(sum->value(once.empty() ? nullptr : &bias));
  }

 private:
  static State words_of(int64_t terms, const Sum& sum) {
    State words = sum.words();
    words.insert(words.begin(), static_cast<uint64_t>(terms));
    return words;
  }
  static std::optional<Sum> restored(const State& words, int64_t terms) {
    Sum sum;
    const bool fits = !words.empty() && words[0] == static_cast<uint64_t>(terms) &&
                      sum.restore(State(words.begin() + 1, words.end()));
    return fits ? std::optional<Sum>(sum) : std::nullopt;
  }

  const Plan plan_;
};

}  // namespace

Expected<std::unique_ptr<Reduction>> Reduction::of(const Question& q, const platform::Arithmetic& arithmetic) {
  ISOBIT_TRY(Plan plan, plan_for(q, Needs::kWhereTheyMust));
  std::unique_ptr<Reduction> found;
  if (plan.way == Way::kProduct) {
    if (q.type() == DType::kFloat64) {
      found = std::make_unique<ProductReduction<OrderedState<double>, double>>(std::move(plan));
    } else if (arithmetic.corrects) {
      found = std::make_unique<ProductReduction<ExactState, float>>(std::move(plan));
    } else {
      found = std::make_unique<ProductReduction<OrderedState<float>, float>>(std::move(plan));
    }
  } else if (plan.way == Way::kFormula && plan.formula->fold_of(q.where.node) != runtime::Fold::kNone) {
    by_type(Types<float, double>{}, computed_in(q, plan),
            [&]<class T>(T) { found = std::make_unique<FormulaReduction<T>>(q, std::move(plan)); });
  }
  if (found == nullptr)
    return unreadable(text_of("node '", q.where.node.name, "': the element is no sum of real terms"));
  return found;
}

}  // namespace isobit::judge
