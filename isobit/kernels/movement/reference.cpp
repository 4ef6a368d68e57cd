#include "isobit/kernels/movement/reference.h"

#include <cstring>

namespace isobit::kernels::reference {

void strided_copy(size_t element_size, const movement::StridedCopy& c, const void* src, void* dst) {
  const auto size = static_cast<int64_t>(element_size);
  int64_t elements = 1;
  for (int64_t d : c.dims) elements *= d;
  for (int64_t e = 0; e < elements; ++e) {
    int64_t rest = e, from = 0, to = 0;
    for (size_t k = c.dims.size(); k-- > 0;) {
      const int64_t i = rest % c.dims[k];
      rest /= c.dims[k];
      from += i * c.src_steps[k];
      to += i * c.dst_steps[k];
    }
    std::memcpy(static_cast<char*>(dst) + to * size, static_cast<const char*>(src) + from * size, element_size);
  }
}

}  // namespace isobit::kernels::reference
