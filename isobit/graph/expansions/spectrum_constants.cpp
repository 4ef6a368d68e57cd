// The constants of spectra: window functions and the triangles of mel scales.
#include <algorithm>
#include <array>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/expansions/spectrum.h"
#include "isobit/numerics/functions.h"
#include "isobit/numerics/turns.h"

namespace isobit::graph::expansions {
namespace {

constexpr int64_t kMostPlaces = int64_t{1} << 26;

struct Coefficients {
  const char* op;
  double a0, a1, a2;
};

Coefficients coefficients_of(WindowFunction function) {
  switch (function) {
    case WindowFunction::kHann:
      return {"HannWindow", 0.5, 0.5, 0};
    case WindowFunction::kHamming:
      return {"HammingWindow", 25.0 / 46.0, 21.0 / 46.0, 0};
    case WindowFunction::kBlackman:
      break;
  }
  return {"BlackmanWindow", 0.42, 0.5, 0.08};
}

// The one number of a constant; nullopt: it is not known, or not one number.
std::optional<double> number_of(const Builder& b, ValueId v) {
  const Tensor* tensor = b.constant_of(v);
  std::optional<double> number;
  if (tensor == nullptr || tensor->elements() != 1) return number;
  by_type(NumberTypes{}, tensor->dtype(), [&]<class T>(T) { number = static_cast<double>(tensor->data<T>()[0]); });
  return number;
}

Tensor as_type(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(dtype, shape);
  by_type(FloatTypes{}, dtype, [&]<class T>(T) {
    for (size_t i = 0; i < values.size(); ++i) tensor.data<T>()[i] = static_cast<T>(values[i]);
  });
  return tensor;
}

ValueId known_window(Builder& b, const WindowFunctionArguments& a, const Coefficients& c, int64_t size) {
  b.require(size >= 1 && size <= kMostPlaces, text_of("a window of ", size, " places, expected 1 to ", kMostPlaces));
  const auto fits = checked_elements(std::vector<int64_t>{size}, DType::kFloat64, a.most_bytes);
  b.require(fits.has_value(), text_of("a window of ", size, " places is too large: it takes more than the ",
                                      human_bytes(a.most_bytes), " that are left for it"));
  const int64_t n = a.periodic ? size : size - 1;
  if (!b.require(n >= 1, "a window of one place that is not periodic has no period")) return kNoValue;
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    const double once = numerics::sin_cos_of_turn(i, n).cos, twice = numerics::sin_cos_of_turn(2 * i, n).cos;
    values.push_back(c.a0 - c.a1 * once + c.a2 * twice);
  }
  return b.unary("Identity", b.constant(as_type(a.output, {size}, values), "window"), "y");
}

ValueId window_in_a_run(Builder& b, const WindowFunctionArguments& a, const Coefficients& c) {
  constexpr DType kType = DType::kFloat32;
  ValueId size = b.cast(a.size, DType::kInt64, "size");
  if (b.rank(size) == 1) size = b.squeeze(size, {0}, "size");
  const ValueId period = a.periodic ? size : b.sub(size, b.integer(1), "period");
  const ValueId step = b.div(b.scalar(kType, 6.283185307179586), b.cast(period, kType, "period_as_float"), "step");
  const ValueId angles = b.mul(b.cast(b.range(size, "places"), kType, "places_as_float"), step, "angles");
  const ValueId once = b.mul(b.scalar(kType, c.a1), b.unary("Cos", angles, "cos"), "once");
  ValueId y = b.sub(b.scalar(kType, c.a0), once, "two_terms");
  if (c.a2 != 0) {
    const ValueId twice = b.unary("Cos", b.mul(angles, b.scalar(kType, 2), "angles_twice"), "cos_twice");
    y = b.add(y, b.mul(b.scalar(kType, c.a2), twice, "twice"), "three_terms");
  }
  return b.cast(y, a.output, "y");
}

double mel_of_hertz(double hertz) { return 2595 * (numerics::f64_log(1 + hertz / 700) / numerics::f64_log(10)); }
double hertz_of_mel(double mel) { return 700 * (numerics::f64_exp(mel / 2595 * numerics::f64_log(10)) - 1); }

struct MelScale {
  int64_t bins, length, rate;
  double lower, upper;

  int64_t places() const { return length / 2 + 1; }
  // Corner i of bins + 2: the triangle of bin i has the corners i, i + 1 and i + 2.
  double place_of_corner(int64_t i) const {
    const double low = mel_of_hertz(lower), high = mel_of_hertz(upper);
    const double step = (high - low) / static_cast<double>(bins + 2);
    const double hertz = hertz_of_mel(static_cast<double>(i) * step + low);
    return std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
  }
};

// The triangle of one bin, a column of the matrix: up to 1 at the middle corner and down again.
void write_triangle(const MelScale& scale, int64_t bin, const std::array<int64_t, 3>& corners,
                    std::vector<double>& values) {
  const auto [left, middle, right] = corners;
  const auto at = [&](int64_t place) -> double& { return values[static_cast<size_t>(place * scale.bins + bin)]; };
  if (left == middle) at(middle) = 1;
  for (int64_t j = left; left < middle && j <= middle; ++j) {
    at(j) = static_cast<double>(j - left) / static_cast<double>(middle - left);
  }
  for (int64_t j = middle; j < right; ++j) {
    at(j) = static_cast<double>(right - j) / static_cast<double>(right - middle);
  }
}

}  // namespace

Expected<std::vector<ValueId>> window_function(Graph& graph, const WindowFunctionArguments& a) {
  const Coefficients c = coefficients_of(a.function);
  Builder b(graph, c.op, a.name);
  b.require(FloatTypes::contains(a.output), text_of("output as ", name_of(a.output), ", expected float32 or float64"));
  b.require_ranks({a.size});
  b.require(b.is_integer(a.size) && b.rank(a.size) <= 1, "the size is no integer of rank 0 or 1");
  if (b.failed()) return b.finish({});
  const std::optional<double> size = number_of(b, a.size);
  if (!size) return b.finish({window_in_a_run(b, a, c)});
  b.require(*size >= 1 && *size <= static_cast<double>(kMostPlaces), "the size is not 1 to 67108864");
  return b.finish({b.failed() ? kNoValue : known_window(b, a, c, static_cast<int64_t>(*size))});
}

Expected<std::vector<ValueId>> mel_weight_matrix(Graph& graph, const MelWeightMatrixArguments& a) {
  Builder b(graph, "MelWeightMatrix", a.name);
  std::vector<double> numbers;
  for (ValueId v : {a.num_mel_bins, a.dft_length, a.sample_rate, a.lower_edge_hertz, a.upper_edge_hertz}) {
    const std::optional<double> number = number_of(b, v);
    if (!b.require(number.has_value(), "its inputs must be numbers that are known before the run")) return b.finish({});
    numbers.push_back(*number);
  }
  b.require(FloatTypes::contains(a.output), text_of("output as ", name_of(a.output), ", expected float32 or float64"));
  for (size_t i = 0; i < 3; ++i) {
    b.require(numbers[i] >= 1 && numbers[i] <= static_cast<double>(kMostPlaces),
              text_of("input ", i, " is ", numbers[i], ", expected 1 to ", kMostPlaces));
  }
  b.require(numbers[3] >= 0 && numbers[3] < numbers[4] && std::isfinite(numbers[4]),
            "the edges are not 0 or more, the lower below the upper");
  if (b.failed()) return b.finish({});
  const MelScale scale{static_cast<int64_t>(numbers[0]), static_cast<int64_t>(numbers[1]),
                       static_cast<int64_t>(numbers[2]), numbers[3], numbers[4]};
  const Shape shape({scale.places(), scale.bins});
  const auto elements =
      checked_elements(shape.dims(), DType::kFloat64, std::min(a.most_bytes, uint64_t{kMostPlaces} * 8));
  b.require(elements.has_value(), text_of("a matrix of ", shape.text(), " is too large"));
  b.require(scale.place_of_corner(scale.bins + 1) < static_cast<double>(scale.places()),
            "the upper edge is above the spectrum");
  if (b.failed()) return b.finish({});
  std::vector<double> values(static_cast<size_t>(*elements));
  std::array<int64_t, 3> corners{};
  for (int64_t bin = 0; bin < scale.bins; ++bin) {
    for (int64_t i = 0; i < 3; ++i) {
      // The way to mel and back may end just below 0.
      const double last = static_cast<double>(scale.places() - 1);
      corners[static_cast<size_t>(i)] = static_cast<int64_t>(std::clamp(scale.place_of_corner(bin + i), 0.0, last));
    }
    write_triangle(scale, bin, corners, values);
  }
  return b.finish({b.unary("Identity", b.constant(as_type(a.output, shape, values), "matrix"), "y")});
}

}  // namespace isobit::graph::expansions
