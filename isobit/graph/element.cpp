#include "isobit/graph/element.h"

#include "isobit/base/status.h"

namespace isobit::graph {

GuideValue ElementQuery::guide_at(int input, int64_t place) const {
  if (guide) return guide(input, place);
  const Tensor& tensor = *operand(input);
  if (tensor.dtype() == DType::kBool) return {.integer = static_cast<const uint8_t*>(tensor.raw())[place]};
  GuideValue value;
  const bool known = by_type(NumberTypes{}, tensor.dtype(), [&]<class T>(T) {
    const T x = tensor.data<T>()[place];
    if constexpr (std::is_floating_point_v<T>) {
      value.real = static_cast<double>(x);
    } else {
      value.integer = static_cast<int64_t>(x);
    }
  });
  ISOBIT_CHECK(known);
  return value;
}

}  // namespace isobit::graph
