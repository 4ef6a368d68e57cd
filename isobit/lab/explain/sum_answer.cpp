#include "isobit/lab/explain/sum_answer.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/lab/reveal/confirm.h"
#include "isobit/lab/reveal/probes.h"
#include "isobit/numerics/bits.h"

namespace isobit::lab::explain {
namespace {

constexpr uint64_t kMaxText = 1 << 20;
constexpr double kMostCheapRuns = 1024;  // of all questions but those about the order
constexpr size_t kMostMixed = 9;         // terms that are looked at alone
constexpr int64_t kMostReach = 16;       // places beyond the terms that are looked at, on either side

bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

class Asking {
 public:
  Asking(const OperatorCall& call, OperatorRun& run, double seconds, const SumPlace& place)
      : call_(call), run_(run), seconds_(seconds), place_(place) {}

  Expected<SumAnswer> ask() {
    const auto k = static_cast<double>(place_.terms.size());
    if (kMostCheapRuns * seconds_ > kMostAskedSeconds) return refused("one run of it takes too long");
    const auto divisor = divisor_of(run_, call_, place_);
    if (!divisor) return refused("it is neither a sum nor a mean");
    answer_.model.divisor = *divisor;
    OperatorSum sum(run_, call_, place_, *divisor);
    if (graph::op_of(call_.node()).product == graph::ProductForm::kConv) {
      ISOBIT_RETURN_IF_ERROR(probe_reach());
      ISOBIT_TRY(answer_.mixes, probe_mixing(sum));
      // What transforms tiles has no order of the window's terms.
      if (answer_.mixes) return std::move(answer_);
    }
    if (!is_power_of_two(*divisor)) ISOBIT_RETURN_IF_ERROR(probe_division());
    if (place_.terms.size() > reveal::kMostTerms) {
      return refused(text_of("it adds ", place_.terms.size(), " terms, more than ", reveal::kMostTerms));
    }
    if ((k * (std::log2(k) + 2) + kMostCheapRuns) * seconds_ > kMostAskedSeconds) {
      return refused("it takes too long to be asked as often as that needs");
    }
    ISOBIT_TRY(const reveal::Revealed revealed, reveal::reveal_tree(sum));
    answer_.verdict = revealed.verdict;
    answer_.reason = revealed.reason;
    answer_.model.tree = revealed.tree;
    // Of a mean by anything but a power of two the probes would see the roundings of its division.
    if (revealed.tree && is_power_of_two(*divisor)) ISOBIT_RETURN_IF_ERROR(probe(sum, *revealed.tree));
    return std::move(answer_);
  }

 private:
  SumAnswer refused(std::string why) {
    answer_.problem = std::move(why);
    return std::move(answer_);
  }

  Status probe(OperatorSum& sum, const reveal::SumTree& tree) {
    ISOBIT_TRY(const std::vector<reveal::Probe> probes, reveal::probe_arithmetic(sum, tree));
    ISOBIT_TRY(const reveal::Confirmation confirmation, reveal::confirm(sum, &tree));
    answer_.model.wide = confirmation.all(confirmation.wide) && !confirmation.all(confirmation.plain);
    for (const reveal::Probe& p : probes) {
      if (p.name == "rounding") answer_.rounding = p.finding;
      if (p.name == "accumulator") answer_.accumulator = p.finding;
      if (p.name == "products") answer_.model.fused = p.finding == "fused multiply-add";
      if (p.name.starts_with("subnormal") && p.finding != "kept") answer_.model.flushes = true;
    }
    answer_.model.toward_zero = answer_.rounding == "toward zero";
    return {};
  }

  // One term alone is its own sum, whatever the order.
  Status probe_division() {
    OperatorSum sum(run_, call_, place_);
    std::mt19937 random(6);
    const auto n = static_cast<float>(answer_.model.divisor);
    std::vector<double> terms(place_.terms.size(), 0);
    int differ = 0, multiplied = 0;
    for (int i = 0; i < 128; ++i) {
      const auto x = static_cast<float>(random() >> 8 | 1u << 23);
      const float quotient = x / n, product = x * (1 / n);
      if (quotient == product) continue;
      terms[0] = static_cast<double>(x);
      double result = 0;
      ISOBIT_RETURN_IF_ERROR(sum.sums(1, terms.data(), &result));
      ++differ;
      multiplied += result == static_cast<double>(product);
    }
    answer_.model.by_reciprocal = differ > 0 && multiplied == differ;
    return {};
  }

  // Does a huge number at places that are no terms of the element reach its bits? Of a sum of products it does not;
  // whoever transforms tiles of the image before he multiplies cannot help it.
  Status probe_reach() {
    ISOBIT_TRY(const std::vector<Tensor> before, run_(call_.inputs));
    const auto bits = [&](const std::vector<Tensor>& outputs) {
      return numerics::bits_of(outputs[0].data<float>()[place_.element]);
    };
    const std::vector<int64_t>& dims = call_.inputs[0].shape().dims();
    int64_t inner = call_.inputs[0].elements();
    for (const int64_t extent : dims) {
      inner /= extent;
      Reach reach{.first = extent, .last = -1};
      for (const int64_t term : place_.terms) {
        reach.first = std::min(reach.first, term / inner % extent);
        reach.last = std::max(reach.last, term / inner % extent);
      }
      reach.reached_first = reach.first;
      reach.reached_last = reach.last;
      for (int64_t at = std::max<int64_t>(0, reach.first - kMostReach);
           at <= std::min(extent - 1, reach.last + kMostReach); ++at) {
        if (at >= reach.first && at <= reach.last) continue;
        std::vector<Tensor> inputs = call_.inputs;
        inputs[0] = inputs[0].clone();
        for (int64_t e = 0; e < inputs[0].elements(); ++e) {
          if (e / inner % extent == at) inputs[0].data<float>()[e] = 0x1p30f;
        }
        ISOBIT_TRY(const std::vector<Tensor> after, run_(inputs));
        if (bits(before) == bits(after)) continue;
        reach.reached_first = std::min(reach.reached_first, at);
        reach.reached_last = std::max(reach.reached_last, at);
      }
      answer_.reach.push_back(reach);
    }
    return {};
  }

  // One term of 1 and weight 1; huge weights meet zeros. Whoever multiplies sums of weights loses the 1 beside them,
  // which he does not where all weights are small.
  Expected<bool> probe_mixing(OperatorSum& sum) const {
    const size_t k = place_.terms.size();
    bool mixes = false;
    for (size_t tried = 0; tried < kMostMixed && !mixes; ++tried) {
      const size_t one = tried * k / kMostMixed;
      ISOBIT_TRY(const double beside_small, one_among(sum, one, 1));
      ISOBIT_TRY(const double beside_huge, one_among(sum, one, 0x1p30));
      mixes = std::abs(beside_small - 1) < 0.25 && !(std::abs(beside_huge - 1) < 0.25);
    }
    const std::vector<double> ones(k, 1);
    ISOBIT_RETURN_IF_ERROR(sum.weigh(ones.data()));
    return mixes;
  }

  Expected<double> one_among(OperatorSum& sum, size_t one, double others) const {
    const size_t k = place_.terms.size();
    std::vector<double> weights(k), terms(k, 0);
    for (size_t t = 0; t < k; ++t) weights[t] = others * (1 + 0x1p-20 * static_cast<double>(t));
    weights[one] = terms[one] = 1;
    ISOBIT_RETURN_IF_ERROR(sum.weigh(weights.data()));
    double result = 0;
    ISOBIT_RETURN_IF_ERROR(sum.sums(1, terms.data(), &result));
    return result;
  }

  const OperatorCall& call_;
  OperatorRun& run_;
  const double seconds_;  // of one run
  const SumPlace& place_;
  SumAnswer answer_;
};

}  // namespace

Expected<SumAnswer> ask_sum(const OperatorCall& call, OperatorRun& run, double seconds, const SumPlace& place) {
  return Asking(call, run, seconds, place).ask();
}

void put(ByteWriter& w, const SumAnswer& a) {
  for (const std::string* text : {&a.problem, &a.reason, &a.accumulator, &a.rounding})
    w.text(text->substr(0, kMaxText));
  w.u8(static_cast<uint8_t>(a.verdict));
  w.text(a.model.tree ? reveal::text_of_tree(*a.model.tree) : "");
  for (const bool flag :
       {a.mixes, a.model.fused, a.model.wide, a.model.toward_zero, a.model.flushes, a.model.by_reciprocal}) {
    w.boolean(flag);
  }
  w.i64(a.model.divisor);
  w.u64(a.reach.size());
  for (const Reach& r : a.reach) {
    for (const int64_t place : {r.first, r.last, r.reached_first, r.reached_last}) w.i64(place);
  }
}

Expected<SumAnswer> take_sum(ByteReader& reader) {
  SumAnswer a;
  for (std::string* text : {&a.problem, &a.reason, &a.accumulator, &a.rounding}) {
    ISOBIT_TRY(*text, reader.text("words", kMaxText));
  }
  ISOBIT_TRY(const uint8_t verdict, reader.u8("verdict"));
  if (verdict > static_cast<uint8_t>(reveal::Verdict::kGaveUp)) return reader.fail("verdict", "none that there is");
  a.verdict = static_cast<reveal::Verdict>(verdict);
  ISOBIT_TRY(const std::string tree, reader.text("tree", reveal::kMostTreeText));
  if (!tree.empty()) {
    ISOBIT_TRY(a.model.tree, reveal::parse_tree(tree, "the order of an operator's sum"));
  }
  for (bool* flag :
       {&a.mixes, &a.model.fused, &a.model.wide, &a.model.toward_zero, &a.model.flushes, &a.model.by_reciprocal}) {
    ISOBIT_TRY(*flag, reader.boolean("finding"));
  }
  ISOBIT_TRY(a.model.divisor, reader.i64("divisor"));
  ISOBIT_TRY(const uint64_t axes, reader.u64("axes"));
  for (uint64_t i = 0; i < axes; ++i) {
    Reach r;
    for (int64_t* place : {&r.first, &r.last, &r.reached_first, &r.reached_last}) {
      ISOBIT_TRY(*place, reader.i64("place"));
    }
    a.reach.push_back(r);
  }
  return a;
}

}  // namespace isobit::lab::explain
