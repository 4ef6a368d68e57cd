#include "isobit/tensor/convert.h"

#include <algorithm>

namespace isobit {
namespace {

template <class From, class To>
Tensor converted_to(const Tensor& tensor) {
  Tensor out(dtype_of<To>(), tensor.shape());
  std::ranges::transform(tensor.span<From>(), out.span<To>().begin(), [](From x) { return static_cast<To>(x); });
  return out;
}

}  // namespace

Tensor converted(const Tensor& tensor, DType to) {
  ISOBIT_CHECK(FloatTypes::contains(tensor.dtype()) && FloatTypes::contains(to) && tensor.dtype() != to);
  return to == DType::kFloat64 ? converted_to<float, double>(tensor) : converted_to<double, float>(tensor);
}

}  // namespace isobit
