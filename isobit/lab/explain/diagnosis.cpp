#include "isobit/lab/explain/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/lab/explain/diagnosis_internal.h"
#include "isobit/numerics/bits.h"

namespace isobit::lab::explain {
namespace {

bool is_subnormal(float x) { return x != 0 && std::abs(x) < std::numeric_limits<float>::min(); }

// The elements of operands that an element of output 0 is made of, of an operator of single elements.
std::vector<float> operands_of(const OperatorCall& call, int64_t element) {
  std::vector<float> values;
  for (const graph::ElementSource& source : call.sources_of(element)) {
    const Tensor* tensor = call.fed(static_cast<size_t>(source.input));
    if (tensor != nullptr && tensor->dtype() == DType::kFloat32)
      values.push_back(tensor->data<float>()[source.element]);
  }
  return values;
}

bool is_of_single_elements(const OperatorCall& call) {
  const graph::OutputDef& def = graph::op_of(call.node()).output(0);
  return def.rule == graph::ElementRule::kPointwise && def.sources;
}

std::string places_of(int64_t count, size_t all) { return text_of(count, " of ", all, " places"); }

// How far results are from the correctly rounded ones.
struct Off {
  int64_t places = 0;
  uint64_t largest = 0;  // in ulp
  std::string words(size_t all) const {
    if (places == 0) return text_of("correctly rounded in all of ", all, " places");
    return text_of(largest == 1 ? "1 ulp" : text_of("up to ", largest, " ulp"), " off the correctly rounded value in ",
                   places_of(places, all));
  }
};

Off off_by(std::span<const float> results, std::span<const float> right) {
  Off off;
  for (size_t i = 0; i < results.size(); ++i) {
    if (same(results[i], right[i])) continue;
    ++off.places;
    off.largest = std::max(off.largest, numerics::ulp_distance(results[i], right[i]));
  }
  return off;
}

}  // namespace

std::optional<Diagnosis> powers(const Evidence& e) {
  const auto makes = [](const Answer& one, const Answer& other) {
    return std::ranges::count(one.float_powers, hash_of(other.outputs.front())) > 0;
  };
  const bool b_is_float = makes(e.a, e.b);
  if (!b_is_float && !makes(e.b, e.a)) return std::nullopt;
  Diagnosis d{.kind = Kind::kBiasCorrection, .confirmed = true, .compared = static_cast<int64_t>(e.out_a().size())};
  d.words =
      text_of("With the powers beta^t of its bias correction computed in float32 (powf) and nothing else changed, ",
              b_is_float ? e.names.a : e.names.b, " makes every bit of ", b_is_float ? e.names.b : e.names.a, ": ",
              d.compared, " parameters agree.");
  return d;
}

std::optional<Diagnosis> flushed(const Evidence& e) {
  const auto a = e.out_a(), b = e.out_b();
  const bool single = is_of_single_elements(e.call);
  int64_t differ = 0, zero_a = 0, zero_b = 0, results = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (same(a[i], b[i])) continue;
    ++differ;
    const bool result = (a[i] == 0 && is_subnormal(b[i])) || (b[i] == 0 && is_subnormal(a[i]));
    bool operand = false;
    if (!result && single) {
      const auto operands = operands_of(e.call, static_cast<int64_t>(i));
      operand = std::ranges::any_of(operands, is_subnormal);
    }
    if (!result && !operand) return std::nullopt;
    results += result;
    zero_a += result && a[i] == 0;
    zero_b += result && b[i] == 0;
  }
  if (zero_a > 0 && zero_b > 0) return std::nullopt;
  Diagnosis d{.kind = Kind::kFlushToZero, .confirmed = true, .compared = static_cast<int64_t>(a.size())};
  d.words = results == differ
                ? text_of(zero_a > 0 ? e.names.a : e.names.b, " has 0 where ", zero_a > 0 ? e.names.b : e.names.a,
                          " has a subnormal number, in ", places_of(differ, a.size()), "; all others are the same.")
                : text_of("They differ only where an operand or the result is a subnormal number, in ",
                          places_of(differ, a.size()), ".");
  return d;
}

std::optional<Diagnosis> divided(const Evidence& e) {
  if (!is_of_single_elements(e.call) || e.call.inputs.size() != 2) return std::nullopt;
  const auto a = e.out_a(), b = e.out_b();
  bool a_divides = true, b_divides = true, a_multiplies = true, b_multiplies = true;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto xy = operands_of(e.call, static_cast<int64_t>(i));
    if (xy.size() != 2) return std::nullopt;
    const float quotient = xy[0] / xy[1], product = xy[0] * (1 / xy[1]);
    a_divides = a_divides && (same(a[i], quotient) || std::isnan(quotient));
    b_divides = b_divides && (same(b[i], quotient) || std::isnan(quotient));
    a_multiplies = a_multiplies && (same(a[i], product) || std::isnan(product));
    b_multiplies = b_multiplies && (same(b[i], product) || std::isnan(product));
    if (!(a_divides && b_multiplies) && !(b_divides && a_multiplies)) return std::nullopt;
  }
  Diagnosis d{.kind = Kind::kReciprocalDivision, .confirmed = true, .compared = static_cast<int64_t>(a.size())};
  d.words = text_of("In all of ", a.size(), " places ", a_divides ? e.names.a : e.names.b, " has x / y, and ",
                    a_divides ? e.names.b : e.names.a, " has x times the rounded 1 / y.");
  return d;
}

std::optional<Diagnosis> function(const Evidence& e) {
  if (!is_of_single_elements(e.call) || e.reference == nullptr) return std::nullopt;
  const auto right = e.reference->narrow.span<float>();
  // A formula of several roundings has no correctly rounded value that somebody could be off.
  if (right.size() != e.out_a().size() || off_by(right, e.reference->wide.span<float>()).places > 0)
    return std::nullopt;
  const Off a = off_by(e.out_a(), right), b = off_by(e.out_b(), right);
  Diagnosis d{.kind = Kind::kElementaryFunction,
              .confirmed = a.places == 0 || b.places == 0,
              .compared = static_cast<int64_t>(right.size())};
  d.words = text_of(graph::short_name(e.call.node().op), " is ", a.words(right.size()), " on ", e.names.a, ", ",
                    b.words(right.size()), " on ", e.names.b, ".");
  return d;
}

Diagnosis diagnose(const OperatorCall& call, const Answer& a, const Answer& b, const Reference* reference,
                   const Names& names) {
  Diagnosis none;
  for (const Answer* answer : {&a, &b}) {
    if (!answer->problem.empty()) none.words = text_of(answer->problem, ".");
  }
  if (!none.words.empty()) return none;
  const auto is_plain = [](const Answer& x) {
    return !x.outputs.empty() && x.outputs.front().dtype() == DType::kFloat32;
  };
  if (!is_plain(a) || !is_plain(b) || a.outputs.front().shape() != b.outputs.front().shape()) {
    none.words = "Its outputs are no float32 numbers, of which this was not looked into.";
    return none;
  }
  if (identical(a.outputs.front(), b.outputs.front())) {
    none.words = "Its first output is the same on both, and of the others this was not looked into.";
    return none;
  }
  const Evidence evidence{call, a, b, reference, names};
  for (const auto part : {powers, flushed, divided, function, summed, soft_maximum}) {
    if (auto found = part(evidence)) return *std::move(found);
  }
  none.words = "Nothing that was looked at tells the two apart.";
  return none;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kUnknown:
      return "unknown";
    case Kind::kSummationOrder:
      return "summation_order";
    case Kind::kFusedMultiplyAdd:
      return "fused_multiply_add";
    case Kind::kAccumulatorWidth:
      return "accumulator_width";
    case Kind::kRounding:
      return "rounding";
    case Kind::kFlushToZero:
      return "flush_to_zero";
    case Kind::kReciprocalDivision:
      return "reciprocal_division";
    case Kind::kElementaryFunction:
      return "elementary_function";
    case Kind::kConvolutionAlgorithm:
      return "convolution_algorithm";
    case Kind::kBiasCorrection:
      break;
  }
  return "bias_correction";
}

std::string in_words(Kind kind) {
  switch (kind) {
    case Kind::kUnknown:
      return "not found";
    case Kind::kSummationOrder:
      return "another order of the additions";
    case Kind::kFusedMultiplyAdd:
      return "fused multiply-add in one, multiply, round and then add in the other";
    case Kind::kAccumulatorWidth:
      return "partial sums of another width";
    case Kind::kRounding:
      return "additions that are rounded another way";
    case Kind::kFlushToZero:
      return "subnormal numbers that one of them takes as zero";
    case Kind::kReciprocalDivision:
      return "a division in one, a multiplication by the rounded reciprocal in the other";
    case Kind::kElementaryFunction:
      return "a function that is not correctly rounded";
    case Kind::kConvolutionAlgorithm:
      return "another algorithm of the convolution";
    case Kind::kBiasCorrection:
      break;
  }
  return "powers in the bias correction of the optimizer";
}

}  // namespace isobit::lab::explain
