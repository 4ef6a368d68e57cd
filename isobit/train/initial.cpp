#include "isobit/train/initial.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/numerics/philox.h"
#include "isobit/tensor/convert.h"

namespace isobit::train {
namespace {

using models::Init;

class Values {
 public:
  explicit Values(const Job& job) : job_(job) {}

  // Before the first value is asked for, where one of them is given.
  Status read(const models::Network& network) {
    ISOBIT_TRY(std::vector<NamedTensor> given, network.given_values());
    for (NamedTensor& t : given) given_[t.name] = std::move(t.tensor);
    return {};
  }

  template <class Slot>
  Expected<NamedTensor> of(const graph::Graph& graph, const Slot& slot) {
    const graph::Value& value = graph.value(slot.in);
    if (slot.init.kind == Init::Kind::kGiven) return given(slot.name, value);
    Tensor tensor(DType::kFloat32, value.shape());
    fill(slot.init, static_cast<uint32_t>(slot.parameter), tensor);
    return NamedTensor{slot.name, in_type(value.dtype, std::move(tensor))};
  }

 private:
  void fill(const Init& init, uint32_t parameter, Tensor& tensor) const {
    float* data = tensor.data<float>();
    const int64_t n = tensor.elements();
    const numerics::Stream stream{job_.seed, numerics::Purpose::kInitialWeights, parameter};
    switch (init.kind) {
      case Init::Kind::kConstant:
      case Init::Kind::kGiven:
        std::fill(data, data + n, init.a);
        break;
      case Init::Kind::kUniform:
        numerics::fill_uniform_f32(stream, 0, data, n);
        for (int64_t i = 0; i < n; ++i) data[i] = (2.0f * data[i] - 1.0f) * init.a;
        break;
      case Init::Kind::kNormal:
        numerics::fill_normal_f32(stream, 0, data, n);
        for (int64_t i = 0; i < n; ++i) data[i] *= init.a;
        break;
    }
  }

  Expected<NamedTensor> given(const std::string& name, const graph::Value& value) {
    const auto found = given_.find(name);
    if (found == given_.end()) {
      return unreadable(text_of("the network: what '", name, "' begins with is not there"));
    }
    Tensor tensor = in_type(value.dtype, std::move(found->second));
    given_.erase(found);
    if (tensor.has_type(value.dtype, value.dims)) return NamedTensor{name, std::move(tensor)};
    return unreadable(text_of("the network: what '", name, "' begins with is ", name_of(tensor.dtype()), " ",
                              tensor.shape().text(), ", expected ", name_of(value.dtype), " ", value.shape().text()));
  }

  const Job& job_;
  std::map<std::string, Tensor> given_;
};

template <class Slots>
bool any_given(const Slots& slots) {
  return std::ranges::any_of(slots, [](const auto& slot) { return slot.init.kind == Init::Kind::kGiven; });
}

template <class Slots>
Status append(const Slots& slots, const StepGraph& step, Values& values, std::vector<NamedTensor>& to) {
  for (const auto& slot : slots) {
    ISOBIT_TRY(NamedTensor tensor, values.of(step.graph, slot));
    to.push_back(std::move(tensor));
  }
  return {};
}

}  // namespace

Tensor in_type(DType wanted, Tensor tensor) {
  if (tensor.dtype() != DType::kFloat32 || wanted != DType::kFloat64) return tensor;
  return converted(tensor, wanted);
}

Expected<InitialValues> initial_values(const Job& job, const StepGraph& step, const models::Network& network) {
  Values values(job);
  if (any_given(step.slots) || any_given(step.frozen)) ISOBIT_RETURN_IF_ERROR(values.read(network));
  InitialValues initial;
  ISOBIT_RETURN_IF_ERROR(append(step.slots, step, values, initial.state));
  ISOBIT_RETURN_IF_ERROR(append(step.frozen, step, values, initial.frozen));
  return initial;
}

Expected<std::vector<NamedTensor>> frozen_values(const Job& job, const StepGraph& step,
                                                 const models::Network& network) {
  Values values(job);
  if (any_given(step.frozen)) ISOBIT_RETURN_IF_ERROR(values.read(network));
  std::vector<NamedTensor> frozen;
  ISOBIT_RETURN_IF_ERROR(append(step.frozen, step, values, frozen));
  return frozen;
}

}  // namespace isobit::train
