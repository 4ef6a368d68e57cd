// Which initializers are weights, and a model without their data.
#include <cmath>

#include "isobit/numerics/half.h"
#include "isobit/onnx/frame_internal.h"
#include "isobit/onnx/import.h"

namespace isobit::onnx {
namespace {

// Whether `holds` is true of each element, widened where it is half a float.
template <class F>
bool all_of(const Tensor& tensor, F holds) {
  bool all = true;
  by_type(RealTypes{}, tensor.dtype(), [&]<class T>(T) {
    for (const T x : tensor.span<T>()) {
      if constexpr (std::is_floating_point_v<T>) {
        all = all && holds(x);
      } else {
        all = all && holds(numerics::widened(x));
      }
    }
  });
  return all;
}

// Float32 for halves, exactly; the tensor itself for others.
Tensor as_fed(Tensor tensor) {
  if (FloatTypes::contains(tensor.dtype())) return tensor;
  Tensor wide(DType::kFloat32, tensor.shape());
  by_type(HalfTypes{}, tensor.dtype(), [&]<class T>(T) {
    const auto from = tensor.span<T>();
    for (size_t i = 0; i < from.size(); ++i) wide.data<float>()[i] = numerics::widened(from[i]);
  });
  return wide;
}

}  // namespace

bool is_real(DType type) { return RealTypes::contains(type); }

bool is_weight(const TensorDef& tensor) {
  if (tensor.dropped) return true;
  const Tensor& t = tensor.tensor;
  return t.defined() && is_real(t.dtype()) && t.shape().rank() > 0 && t.elements() > 0 &&
         all_of(t, [](auto x) { return std::isfinite(x); });
}

bool has_nan(const TensorDef& tensor) {
  return tensor.tensor.defined() && !all_of(tensor.tensor, [](auto x) { return !std::isnan(x); });
}

void drop_weights(Model& model, uint64_t bytes) {
  for (TensorDef& t : model.graph.initializers) {
    if (t.dropped || !t.tensor.defined() || t.tensor.bytes() <= bytes || !is_weight(t)) continue;
    t.tensor = Tensor();
    t.dropped = true;
  }
}

std::vector<NamedTensor> take_weights(Model& model) {
  std::vector<NamedTensor> weights;
  for (TensorDef& t : model.graph.initializers) {
    ISOBIT_CHECK(!t.dropped);
    if (is_weight(t)) weights.push_back({tidy_name(t.name), as_fed(std::move(t.tensor))});
    t.tensor = Tensor();
  }
  return weights;
}

}  // namespace isobit::onnx
