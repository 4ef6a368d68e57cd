#include "isobit/kernels/dropout/dropout.h"

#include <cmath>

#include "isobit/base/status.h"
#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/elements.h"
#include "isobit/kernels/movement/movement.h"

namespace isobit::kernels {
namespace {

constexpr int64_t kDropoutGrain = 8192;
constexpr int64_t kMostElements = int64_t{1} << 42;  // of a node

}  // namespace

template <class T>
void dropout(const KernelContext& ctx, const DropoutArgs& args, int64_t n, const T* src, T* dst) {
  ISOBIT_CHECK(args.p >= 0 && args.p < 1 && args.node < 1u << 22);
  ISOBIT_CHECK(args.first >= 0 && n <= kMostElements && args.first <= kMostElements - n);
  // Exact: a multiplication by a power of two and a rounding up of a number below 2^32.
  const double threshold = std::ceil(args.p * 0x1p32);
  if (threshold == 0x1p32) {
    const T zero = 0;
    return fill(ctx, sizeof(T), n, &zero, dst);
  }
  const dropouts::Rule<T> rule{.seed = args.seed,
                               .step = args.step,
                               .first_block = static_cast<uint64_t>(args.node) << 40,
                               .first = args.first,
                               .threshold = static_cast<uint32_t>(threshold),
                               .scale = static_cast<T>(1.0 / (1.0 - args.p))};
  const dropouts::Table<T>& isa = dropouts::table_of<T>(ctx.isa);
  for_elements(ctx, n, kDropoutGrain, [&](int64_t begin, int64_t end) { isa.drop(rule, begin, end, src, dst); });
}

#define ISOBIT_INSTANTIATE(T) template void dropout<T>(const KernelContext&, const DropoutArgs&, int64_t, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
