// The executable specification, one element at a time.
#include "isobit/kernels/dropout/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/philox.h"

namespace isobit::kernels::dropouts {
namespace {

template <class T>
void drop(const Rule<T>& rule, int64_t begin, int64_t end, const T* src, T* dst) {
  const numerics::Stream stream{rule.seed, numerics::Purpose::kDropout, rule.step};
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t bits = numerics::random_u32(stream, rule.first_block * 4 + static_cast<uint64_t>(rule.first + i));
    dst[i] = bits >= rule.threshold ? numerics::canonical(src[i] * rule.scale) : T(0);
  }
}

template <class T>
constexpr Table<T> kTable{drop<T>};

}  // namespace

ISOBIT_FOR_FLOATS(ISOBIT_DEFINE_TABLE, kReference)

}  // namespace isobit::kernels::dropouts
