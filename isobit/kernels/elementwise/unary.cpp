#include "isobit/kernels/elementwise/unary.h"

#include "isobit/kernels/elements.h"
#include "isobit/kernels/elementwise/table.h"

namespace isobit::kernels {
namespace {

constexpr int64_t kUnaryGrain = 16384;

}  // namespace

template <class T>
void unary(const KernelContext& ctx, UnaryOp op, int64_t n, const T* src, T* dst) {
  const elementwise::Table<T>& t = elementwise::table_of<T>(ctx.isa);
  // Functions cost some ten times a memory access: smaller parts are worth a thread.
  const bool cheap = op == UnaryOp::kNeg || op == UnaryOp::kAbs || op == UnaryOp::kReciprocal;
  for_elements(ctx, n, cheap ? kUnaryGrain : kUnaryGrain / 4,
               [&](int64_t begin, int64_t end) { t.unary(op, end - begin, src + begin, dst + begin); });
}

template <class T>
void scale(const KernelContext& ctx, int64_t n, T factor, const T* src, T* dst) {
  const elementwise::Table<T>& t = elementwise::table_of<T>(ctx.isa);
  for_elements(ctx, n, kUnaryGrain,
               [&](int64_t begin, int64_t end) { t.scale(end - begin, factor, src + begin, dst + begin); });
}

void cube(const KernelContext& ctx, int64_t n, const float* src, float* dst) {
  const elementwise::Table<float>& t = elementwise::table_of<float>(ctx.isa);
  for_elements(ctx, n, kUnaryGrain, [&](int64_t begin, int64_t end) { t.cube(end - begin, src + begin, dst + begin); });
}

#define ISOBIT_INSTANTIATE(T)                                                   \
  template void unary<T>(const KernelContext&, UnaryOp, int64_t, const T*, T*); \
  template void scale<T>(const KernelContext&, int64_t, T, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
