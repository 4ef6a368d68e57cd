#include "isobit/lab/deviation/pair.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "isobit/numerics/half.h"
#include "isobit/tensor/dtype_named.h"

namespace isobit::lab::deviation {
namespace {

using numerics::FloatFormat;

struct ElementType {
  size_t size = 0;
  std::optional<FloatFormat> format;  // of floating-point numbers
  bool is_signed = false;
};

ElementType type_of(const std::string& name) {
  const std::optional<DType> dtype = dtype_named(name);
  if (!dtype) return {1, {}, false};  // a type that nobody here knows: bytes
  ElementType type{size_of(*dtype), {}, by_dtype(*dtype, [](auto x) { return std::is_signed_v<decltype(x)>; })};
  if (*dtype == DType::kFloat16) type.format = numerics::kFloat16Format;
  if (*dtype == DType::kBfloat16) type.format = numerics::kBfloat16Format;
  if (*dtype == DType::kFloat32) type.format = numerics::kFloat32Format;
  if (*dtype == DType::kFloat64) type.format = numerics::kFloat64Format;
  return type;
}

uint64_t load(const uint8_t* from, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, size);
  return bits;
}

double number(uint64_t bits, const ElementType& type) {
  if (!type.format) {
    if (!type.is_signed) return static_cast<double>(bits);
    const int unused = static_cast<int>(64 - 8 * type.size);
    return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
  }
  if (*type.format == numerics::kFloat64Format) return numerics::f64_from_bits(bits);
  if (*type.format == numerics::kFloat32Format) return numerics::f32_from_bits(static_cast<uint32_t>(bits));
  if (*type.format == numerics::kBfloat16Format) return numerics::f32_from_bits(static_cast<uint32_t>(bits) << 16);
  return numerics::widened(numerics::Float16{static_cast<uint16_t>(bits)});
}

// |a - b| of two integers: no two that differ come out as 0.
double difference_of_integers(uint64_t a, uint64_t b, const ElementType& type) {
  const auto unused = static_cast<int>(64 - 8 * type.size);
  const auto wide = [&](uint64_t bits) { return static_cast<int64_t>(bits << unused) >> unused; };
  const bool less = type.is_signed ? wide(a) < wide(b) : a < b;
  const uint64_t x = type.is_signed ? static_cast<uint64_t>(wide(a)) : a;
  const uint64_t y = type.is_signed ? static_cast<uint64_t>(wide(b)) : b;
  return static_cast<double>(less ? y - x : x - y);
}

// The number of elements that so many bytes hold; none unless that is what the dimensions say.
std::optional<uint64_t> elements_of(const TensorView& tensor, size_t size) {
  uint64_t elements = 1;
  for (const int64_t dim : tensor.dims) {
    if (dim < 0 || __builtin_mul_overflow(elements, static_cast<uint64_t>(dim), &elements)) return {};
  }
  if (tensor.bytes.size() % size != 0 || tensor.bytes.size() / size != elements) return {};
  return elements;
}

void add_element(uint64_t a, uint64_t b, const ElementType& type, PairFigures& figures) {
  const double x = number(a, type), y = number(b, type);
  for (const double v : {x, y}) {
    if (std::isfinite(v)) figures.scale = std::max(figures.scale, std::abs(v));
  }
  if (a == b) return;
  ++figures.differing;
  if (type.format) {
    figures.remaining_precision =
        std::min(*figures.remaining_precision, numerics::remaining_precision(a, b, *type.format));
    figures.ulp = std::max(*figures.ulp, numerics::ulp_distance(a, b, *type.format));
  }
  if (!std::isfinite(x) || !std::isfinite(y)) {
    figures.not_finite += !(std::isnan(x) && std::isnan(y));
    return;
  }
  const double larger = std::max(std::abs(x), std::abs(y));
  double difference = type.format ? std::abs(x - y) : difference_of_integers(a, b, type);
  double relative = larger > 0 ? difference / larger : 0;
  if (std::isinf(difference)) {
    difference = std::numeric_limits<double>::max();
    relative = std::abs(x / larger - y / larger);
  }
  figures.absolute = std::max(figures.absolute, difference);
  figures.relative = std::max(figures.relative, relative);
}

}  // namespace

std::optional<FloatFormat> float_format(const std::string& dtype) { return type_of(dtype).format; }

double PairFigures::l0() const {
  return elements == 0 ? 0 : static_cast<double>(differing) / static_cast<double>(elements);
}

void PairFigures::include(const PairFigures& other) {
  elements += other.elements;
  differing += other.differing;
  if (other.remaining_precision) {
    remaining_precision =
        std::min(remaining_precision.value_or(*other.remaining_precision), *other.remaining_precision);
    ulp = std::max(ulp.value_or(0), *other.ulp);
  }
  absolute = std::max(absolute, other.absolute);
  relative = std::max(relative, other.relative);
  scale = std::max(scale, other.scale);
  not_finite += other.not_finite;
}

std::optional<PairFigures> compare(const TensorView& a, const TensorView& b) {
  if (a.dtype != b.dtype || a.dims != b.dims || a.bytes.size() != b.bytes.size()) return {};
  const ElementType type = type_of(a.dtype);
  const auto elements = elements_of(a, type.size);
  if (!elements) return {};
  PairFigures figures;
  figures.elements = *elements;
  if (type.format) {
    figures.remaining_precision = type.format->significand_bits;
    figures.ulp = 0;
  }
  for (uint64_t i = 0; i < *elements; ++i) {
    const uint64_t at = i * type.size;
    add_element(load(a.bytes.data() + at, type.size), load(b.bytes.data() + at, type.size), type, figures);
  }
  return figures;
}

bool has_labels(const std::string& dtype, const std::vector<int64_t>& dims) {
  return float_format(dtype) && !dims.empty() && dims.size() <= 2 && dims.back() >= 2;
}

std::optional<std::vector<int64_t>> labels_of(const TensorView& tensor) {
  const ElementType type = type_of(tensor.dtype);
  const auto elements = elements_of(tensor, type.size);
  if (!elements || !has_labels(tensor.dtype, tensor.dims)) return {};
  const auto width = static_cast<uint64_t>(tensor.dims.back());
  std::vector<int64_t> labels;
  for (uint64_t row = 0; row < *elements / width; ++row) {
    double largest = 0;
    int64_t label = -1;
    for (uint64_t column = 0; column < width; ++column) {
      const double x = number(load(tensor.bytes.data() + (row * width + column) * type.size, type.size), type);
      if (std::isnan(x) || (label >= 0 && x <= largest)) continue;
      largest = x;
      label = static_cast<int64_t>(column);
    }
    labels.push_back(label);
  }
  return labels;
}

}  // namespace isobit::lab::deviation
