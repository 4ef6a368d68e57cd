#include "isobit/kernels/dropout/dropout.h"

#include <cmath>
#include <type_traits>

#include "isobit/base/status.h"
#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/movement/movement.h"

namespace isobit::kernels {
namespace {

constexpr int64_t kGrain = 8192;

template <class T>
dropout_kernels::Loop<T> pick(dropout_kernels::Loop<float> f32, dropout_kernels::Loop<double> f64) {
  if constexpr (std::is_same_v<T, float>)
    return f32;
  else
    return f64;
}

template <class T>
dropout_kernels::Loop<T> loop_of(Isa isa) {
  namespace d = dropout_kernels;
  switch (isa) {
    case Isa::kReference:
      return pick<T>(d::reference::kLoopF32, d::reference::kLoopF64);
    case Isa::kPortable:
      return pick<T>(d::portable::kLoopF32, d::portable::kLoopF64);
#if defined(__x86_64__)
    case Isa::kAvx2:
      return pick<T>(d::avx2::kLoopF32, d::avx2::kLoopF64);
    case Isa::kAvx512:
      return pick<T>(d::avx512::kLoopF32, d::avx512::kLoopF64);
#elif defined(__aarch64__)
    case Isa::kNeon:
      return pick<T>(d::neon::kLoopF32, d::neon::kLoopF64);
#endif
    default:
      break;
  }
  ISOBIT_CHECK(!"this build has no kernels for that instruction set");
  return nullptr;
}

}  // namespace

template <class T>
void dropout(const KernelContext& ctx, const DropoutArgs& args, int64_t n, const T* src, T* dst) {
  ISOBIT_CHECK(args.p >= 0 && args.p < 1 && args.node < 1u << 22 && n <= int64_t{1} << 42);
  // Exact: a multiplication by a power of two and a rounding up of a number below 2^32.
  const double threshold = std::ceil(args.p * 0x1p32);
  if (threshold == 0x1p32) {
    const T zero = 0;
    return fill(ctx, sizeof(T), n, &zero, dst);
  }
  const dropout_kernels::Rule<T> rule{.seed = args.seed,
                                      .step = args.step,
                                      .first_block = static_cast<uint64_t>(args.node) << 40,
                                      .threshold = static_cast<uint32_t>(threshold),
                                      .scale = static_cast<T>(1.0 / (1.0 - args.p))};
  const dropout_kernels::Loop<T> loop = loop_of<T>(ctx.isa);
  ctx.pool->parallel_for(n, kGrain, [&](int64_t begin, int64_t end) { loop(rule, begin, end, src, dst); });
}

template void dropout<float>(const KernelContext&, const DropoutArgs&, int64_t, const float*, float*);
template void dropout<double>(const KernelContext&, const DropoutArgs&, int64_t, const double*, double*);

}  // namespace isobit::kernels
