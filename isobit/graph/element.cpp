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

std::vector<ElementSource> sources_between(const NumberedSources& numbered, int64_t begin, int64_t end) {
  std::vector<ElementSource> sources;
  sources.reserve(static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i) sources.push_back(numbered.at(i));
  return sources;
}

}  // namespace isobit::graph
