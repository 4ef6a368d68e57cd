#include "isobit/lab/reveal/evaluate.h"

#include <cmath>

#include "isobit/numerics/exact_sum.h"

namespace isobit::lab::reveal {

double rounded_to(Format format, double value) {
  return format == Format::kFloat32 ? static_cast<double>(static_cast<float>(value)) : value;
}

double evaluate(const SumTree& tree, Format format, Accumulator accumulator, const double* terms) {
  const Format inner = accumulator == Accumulator::kFormat ? format : Format::kFloat64;
  std::vector<double> values(terms, terms + tree.leaves());
  for (const auto& children : tree.nodes()) {
    double sum = values[static_cast<size_t>(children[0])];
    // The float64 sum of two float32 numbers, rounded to float32, is their sum rounded once: 53 >= 2 * 24 + 2 bits.
    for (size_t c = 1; c < children.size(); ++c) sum += values[static_cast<size_t>(children[c])];
    values.push_back(rounded_to(inner, sum));
  }
  return rounded_to(format, values.back());
}

namespace {

// Partial sums that do not overlap (Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997): together exact.
double sum_in_float64(int64_t n, const double* terms) {
  std::vector<double> partials;
  for (int64_t t = 0; t < n; ++t) {
    double x = terms[t];
    size_t kept = 0;
    for (double y : partials) {
      const double sum = x + y, back = sum - x, error = (x - (sum - back)) + (y - back);
      if (error != 0) partials[kept++] = error;
      x = sum;
    }
    partials.resize(kept);
    partials.push_back(x);
  }
  // From the largest down; what is left decides a tie.
  double sum = 0, error = 0;
  while (!partials.empty() && error == 0) {
    const double y = partials.back(), before = sum;
    partials.pop_back();
    sum = before + y;
    error = y - (sum - before);
  }
  if (!partials.empty() && error != 0 && (error < 0) == (partials.back() < 0)) {
    const double twice = error * 2, next = sum + twice;
    if (twice == next - sum) sum = next;
  }
  return sum;
}

}  // namespace

double correctly_rounded_sum(Format format, int64_t n, const double* terms) {
  if (format == Format::kFloat64) return sum_in_float64(n, terms);
  const std::vector<float> narrow(terms, terms + n);
  return static_cast<double>(numerics::sum_rounded(narrow.data(), n));
}

}  // namespace isobit::lab::reveal
