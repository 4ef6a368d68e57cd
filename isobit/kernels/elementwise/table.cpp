#include "isobit/kernels/elementwise/table.h"

#include <type_traits>

#include "isobit/base/status.h"

namespace isobit::kernels::elementwise {
namespace {

template <class T>
const Table<T>& pick(const Table<float>& f32, const Table<double>& f64, const Table<int64_t>& i64,
                     const Table<int32_t>& i32) {
  if constexpr (std::is_same_v<T, float>)
    return f32;
  else if constexpr (std::is_same_v<T, double>)
    return f64;
  else if constexpr (std::is_same_v<T, int64_t>)
    return i64;
  else
    return i32;
}

}  // namespace

template <class T>
const Table<T>& table(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return pick<T>(reference::kTableF32, reference::kTableF64, reference::kTableI64, reference::kTableI32);
    case Isa::kPortable:
      return pick<T>(portable::kTableF32, portable::kTableF64, portable::kTableI64, portable::kTableI32);
#if defined(__x86_64__)
    case Isa::kAvx2:
      return pick<T>(avx2::kTableF32, avx2::kTableF64, avx2::kTableI64, avx2::kTableI32);
    case Isa::kAvx512:
      return pick<T>(avx512::kTableF32, avx512::kTableF64, avx512::kTableI64, avx512::kTableI32);
#elif defined(__aarch64__)
    case Isa::kNeon:
      return pick<T>(neon::kTableF32, neon::kTableF64, neon::kTableI64, neon::kTableI32);
#endif
    default:
      break;
  }
  ISOBIT_CHECK(!"this build has no kernels for that instruction set");
  return pick<T>(reference::kTableF32, reference::kTableF64, reference::kTableI64, reference::kTableI32);
}

template const Table<float>& table<float>(Isa);
template const Table<double>& table<double>(Isa);
template const Table<int64_t>& table<int64_t>(Isa);
template const Table<int32_t>& table<int32_t>(Isa);

}  // namespace isobit::kernels::elementwise
