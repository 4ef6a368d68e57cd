#include "isobit/lab/reveal/functions.h"

#include "isobit/base/text.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::lab::reveal {

namespace {

constexpr int64_t kArguments = 65536;

struct Known {
  const char* name;
  float low, high;
  bool logarithmic;  // drawn evenly in the exponent, from the positive numbers
};

constexpr Known kKnown[kFunctions] = {{"exp", -87, 88, false},
                                      {"log", 0x1p-126f, 0x1p127f, true},
                                      {"tanh", -9, 9, false},
                                      {"erf", -3.9f, 3.9f, false},
                                      {"sin", -100, 100, false},
                                      {"cos", -100, 100, false},
                                      {"sqrt", 0x1p-126f, 0x1p127f, true},
                                      {"pow", 0x1p-8f, 0x1p8f, true},
                                      {"divide6", -1000, 1000, false}};

// 32 random bits for each place; a function of seed and place.
uint32_t bits_at(uint64_t seed, int64_t place) {
  uint64_t x = seed * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(place);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>((x ^ (x >> 31)) >> 32);
}

FunctionReport report_of(Function function, const std::vector<float>& x, const std::vector<float>& y,
                         const std::vector<float>& results) {
  FunctionReport report{.function = function, .arguments = static_cast<int64_t>(x.size())};
  commit::Sha256 hash;
  hash.update({reinterpret_cast<const uint8_t*>(results.data()), results.size() * sizeof(float)});
  report.digest = hash.digest();
  for (size_t i = 0; i < x.size(); ++i) {
    const float right = expected(function, x[i], y.empty() ? 0 : y[i]);
    const uint64_t distance = numerics::ulp_distance(results[i], right);
    ++report.ulps[distance > 2 ? 3 : distance];
    if (distance > report.largest) {
      report.largest = distance;
      report.at = x[i];
      report.at_y = y.empty() ? 0 : y[i];
    }
    if (function == Function::kDivide6) {
      const float reciprocal = x[i] * (1.0f / 6.0f);
      report.reciprocal_differs += reciprocal != right;
      report.like_reciprocal += reciprocal != right && results[i] == reciprocal;
    }
  }
  return report;
}

}  // namespace

const char* name_of(Function function) { return kKnown[static_cast<int>(function)].name; }

std::vector<float> arguments_of(Function function) {
  const Known& known = kKnown[static_cast<int>(function)];
  std::vector<float> x(kArguments);
  for (int64_t i = 0; i < kArguments; ++i) {
    const uint32_t bits = bits_at(static_cast<uint64_t>(function) + 1, i);
    if (known.logarithmic) {  // positive numbers in order are their bits in order
      const uint32_t low = numerics::bits_of(known.low), high = numerics::bits_of(known.high);
      x[static_cast<size_t>(i)] =
          numerics::f32_from_bits(low + static_cast<uint32_t>(uint64_t{bits} * (high - low) >> 32));
    } else {
      const double unit = static_cast<double>(bits) * 0x1p-32;
      x[static_cast<size_t>(i)] = static_cast<float>(known.low + unit * (static_cast<double>(known.high) - known.low));
    }
  }
  return x;
}

std::vector<float> exponents_of_pow() {
  std::vector<float> y(kArguments);
  for (int64_t i = 0; i < kArguments; ++i)
    y[static_cast<size_t>(i)] = static_cast<float>(bits_at(99, i)) * 0x1p-28f - 8;
  return y;
}

float expected(Function function, float x, float y) {
  switch (function) {
    case Function::kExp:
      return numerics::cr_exp(x);
    case Function::kLog:
      return numerics::cr_log(x);
    case Function::kTanh:
      return numerics::cr_tanh(x);
    case Function::kErf:
      return numerics::cr_erf(x);
    case Function::kSin:
      return numerics::cr_sin(x);
    case Function::kCos:
      return numerics::cr_cos(x);
    case Function::kSqrt:
      return numerics::cr_sqrt(x);
    case Function::kPow:
      return numerics::cr_pow(x, y);
    case Function::kDivide6:
      return x / 6;
  }
  return 0;
}

Expected<std::vector<FunctionReport>> compare_functions(const Evaluate& evaluate) {
  std::vector<FunctionReport> reports;
  for (int f = 0; f < kFunctions; ++f) {
    const Function function = static_cast<Function>(f);
    const std::vector<float> x = arguments_of(function);
    const std::vector<float> y = function == Function::kPow ? exponents_of_pow() : std::vector<float>();
    const auto results = evaluate(function, x, y);
    if (!results) {
      if (results.error().code != ErrorCode::kUnavailable) return tl::unexpected<Error>(results.error());
      reports.push_back({.function = function, .missing = results.error().message});
      continue;
    }
    if (results->size() != x.size()) {
      return unreadable(text_of(name_of(function), ": ", results->size(), " results of ", x.size(), " arguments"));
    }
    reports.push_back(report_of(function, x, y, *results));
  }
  return reports;
}

}  // namespace isobit::lab::reveal
