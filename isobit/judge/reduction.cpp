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

template <class T>
class FormulaReduction final : public Reduction {
 public:
  FormulaReduction(const Question& q, Plan plan) : plan_(std::move(plan)), shape_(q, plan_), q_(q) {}

  int64_t terms() const override { return shape_.terms(); }
  int64_t chunks() const override { return terms() / kMostTerms + (terms() % kMostTerms == 0 ? 0 : 1); }
  int64_t chunk_begin(int64_t chunk) const override { return std::min(chunk * kMostTerms, terms()); }

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

// More terms than any inner product of a network has: where chunks begin is listed.
constexpr int64_t kMostOfProduct = int64_t{1} << 32;

// The number of terms so far stands before the words of the sum.
template <class Sum, class T>
class ProductReduction final : public Reduction {
 public:
  explicit ProductReduction(Plan plan) : plan_(std::move(plan)) {
    const int64_t all = plan_.product.count;
    while (begins_.back() < all) {
      const int64_t begin = begins_.back(), most = std::min(begin + kMostTerms, all);
      const int64_t end = plan_.product.order.end_of_chunks(begin, most);
      begins_.push_back(end == begin ? most : end);
    }
  }

  int64_t terms() const override { return begins_.back(); }
  int64_t chunks() const override { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t chunk_begin(int64_t chunk) const override { return begins_[static_cast<size_t>(chunk)]; }

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
  std::vector<int64_t> begins_ = {0};  // of each chunk its first term, the last entry behind all
};

}  // namespace

Expected<std::unique_ptr<Reduction>> Reduction::of(const Question& q, const platform::Arithmetic& arithmetic) {
  ISOBIT_TRY(Plan plan, plan_for(q, Needs::kWhereTheyMust));
  std::unique_ptr<Reduction> found;
  if (plan.way == Way::kProduct) {
    if (plan.product.count > kMostOfProduct) {
      return unreadable(text_of("node '", q.where.node.name, "': an inner product of ", plan.product.count,
                                " terms, at most ", kMostOfProduct));
    }
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
