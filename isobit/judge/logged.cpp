#include "isobit/judge/logged.h"

#include <cmath>
#include <limits>
#include <optional>

#include "isobit/base/text.h"
#include "isobit/judge/way.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/log/step_log.h"

namespace isobit::judge {
namespace {

using kernels::rounding::OutputSum;
using kernels::rounding::round_to_bits;

constexpr size_t kStateWords = 2 + 3 * OutputSum::kLanes + kExactWords;

State words_of(const OutputSum& sum) {
  State words = {static_cast<uint64_t>(sum.count), word_of<int64_t>(sum.quantum)};
  for (const auto* lanes : {&sum.high, &sum.low, &sum.magnitude}) {
    for (const double x : *lanes) words.push_back(word_of(tidy(x)));
  }
  append_words(words, sum.sum);
  return words;
}

std::optional<OutputSum> restored(const State& words, int64_t count) {
  if (words.size() != kStateWords || words[0] != static_cast<uint64_t>(count)) return std::nullopt;
  OutputSum sum;
  sum.count = count;
  const auto quantum = from_word<int64_t>(words[1]);
  if (quantum < std::numeric_limits<int>::min() || quantum > std::numeric_limits<int>::max()) return std::nullopt;
  sum.quantum = static_cast<int>(quantum);
  size_t at = 2;
  for (auto* lanes : {&sum.high, &sum.low, &sum.magnitude}) {
    for (double& x : *lanes) x = from_word<double>(words[at++]);
  }
  if (!take_words(words, at, sum.sum) || words_of(sum) != words) return std::nullopt;
  return sum;
}

bool is_float32(double x) { return x != x || static_cast<double>(static_cast<float>(x)) == x; }

tl::unexpected<Error> no_float() { return unreadable("an operand of an inner product is no float32 value"); }

}  // namespace

Bits rounded(const Question& q, Bits before, int bits) {
  const bool moved = !q.where.statistic && !q.output().moved_from.empty();
  if (q.type() != DType::kFloat64 || q.where.statistic || moved) return before;
  return word_of(round_to_bits(from_word<double>(before), bits));
}

runtime::Ruling rule_on_claim(const ExactElement& element, Bits claimed, const runtime::ErrorBounds& bounds, int bits) {
  const auto said = from_word<double>(claimed);
  if (claimed == word_of(element.output.rounded)) return {runtime::Standing::kDecided, said};
  const bool is_value = word_of(round_to_bits(said, bits) + 0.0) == claimed;
  if (!is_value || said != said || element.output.rounded != element.output.rounded) {
    return {runtime::Standing::kIllegal, said};
  }
  const log::SparseEntry entry{0, log::SparseEntry::Kind::kValue, static_cast<float>(said)};
  return runtime::rule_on_entry(element.adds_exactly, element.output, &entry, bounds, bits);
}

Expected<LoggedProduct> LoggedProduct::of(const Question& q) {
  ISOBIT_TRY(const Plan plan, plan_for(q, Needs::kWhereTheyMust));
  if (plan.way != Way::kProduct || q.type() != DType::kFloat64) {
    return unreadable(text_of("node '", q.where.node.name, "': the element is no inner product of float64"));
  }
  LoggedProduct product;
  product.terms_ = plan.product;
  // Every line in the order of its elements.
  product.terms_.order = {.periods = 1, .period = std::max<int64_t>(1, plan.product.count)};
  return product;
}

std::vector<graph::ElementSource> LoggedProduct::once() const {
  return terms_.bias >= 0 ? std::vector<graph::ElementSource>{{2, terms_.bias}} : std::vector<graph::ElementSource>{};
}

std::vector<graph::ElementSource> LoggedProduct::needs(int64_t chunk) const {
  return sources_of(terms_, chunk_begin(chunk), chunk_begin(chunk + 1));
}

State LoggedProduct::begin() const { return words_of(OutputSum()); }

Expected<State> LoggedProduct::partial(int64_t chunk, std::span<const Bits> values, const State& before) const {
  const size_t wanted = needs(chunk).size();
  if (values.size() != wanted) return unreadable(text_of(values.size(), " values, expected ", wanted));
  std::optional<OutputSum> sum = restored(before, chunk_begin(chunk));
  if (!sum) return unreadable("these words are no state of the product at this chunk");
  for (const Bits bits : values) {
    if (!is_float32(from_word<double>(bits))) return no_float();
  }
  for_each_term<double>(terms_, values, chunk_begin(chunk), chunk_begin(chunk + 1),
                        [&](int64_t, double first, double second) { sum->add(first, second); });
  return words_of(*sum);
}

Expected<ExactElement> LoggedProduct::finish(std::span<const Bits> once, const State& behind, int bits) const {
  if (once.size() != this->once().size()) return unreadable("another number of values than there are biases");
  const std::optional<OutputSum> sum = restored(behind, terms());
  if (!sum) return unreadable("these words are no state of the product behind its last chunk");
  const double bias = once.empty() ? 0 : from_word<double>(once[0]);
  if (!is_float32(bias)) return no_float();
  ExactElement element{sum->output(bias, bits)};
  element.adds_exactly = sum->adds_exactly(bias, element.output.at.magnitude);
  return element;
}

Expected<ExactElement> exact_element(const LoggedProduct& product, std::span<const Bits> values, int bits) {
  State state = product.begin();
  size_t next = 0;
  for (int64_t chunk = 0; chunk < product.chunks(); ++chunk) {
    const size_t count = product.needs(chunk).size();
    if (values.size() - next < count) return unreadable("fewer values than the product has terms");
    ISOBIT_TRY(state, product.partial(chunk, values.subspan(next, count), state));
    next += count;
  }
  return product.finish(values.subspan(next), state, bits);
}

}  // namespace isobit::judge
