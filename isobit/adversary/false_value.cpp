#include "isobit/adversary/false_value.h"

#include "isobit/runtime/kernel_call.h"

namespace isobit::adversary {

Status FalseValue::apply(size_t index, runtime::KernelCall& call) {
  if (index != node_ || call.outputs.empty() || !call.outputs[0].defined() || call.outputs[0].elements() == 0) {
    return {};
  }
  const size_t size = size_of(call.outputs[0].dtype());
  auto* bytes = static_cast<uint8_t*>(call.outputs[0].raw());
  if (size == 1) {
    bytes[0] ^= 1;
  } else {
    bytes[size - 2] ^= 0x40;  // of a float32 and a bfloat16's first half, the highest bit of the significand
  }
  applied_ = true;
  return {};
}

}  // namespace isobit::adversary
