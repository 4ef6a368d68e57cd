#include "isobit/kernels/activation/activation.h"

#include <type_traits>

#include "isobit/base/status.h"
#include "isobit/kernels/activation/table.h"

namespace isobit::kernels {
namespace {

using activation::Table;

// Elements worth a thread: where memory sets the pace, and where a function does.
constexpr int64_t kCheap = 16384, kCostly = 4096;

template <class T>
const Table<T>& pick(const Table<float>& f32, const Table<double>& f64) {
  if constexpr (std::is_same_v<T, float>)
    return f32;
  else
    return f64;
}

template <class T>
const Table<T>& table(Isa isa) {
  namespace a = activation;
  switch (isa) {
    case Isa::kReference:
      return pick<T>(a::reference::kTableF32, a::reference::kTableF64);
    case Isa::kPortable:
      return pick<T>(a::portable::kTableF32, a::portable::kTableF64);
#if defined(__x86_64__)
    case Isa::kAvx2:
      return pick<T>(a::avx2::kTableF32, a::avx2::kTableF64);
    case Isa::kAvx512:
      return pick<T>(a::avx512::kTableF32, a::avx512::kTableF64);
#elif defined(__aarch64__)
    case Isa::kNeon:
      return pick<T>(a::neon::kTableF32, a::neon::kTableF64);
#endif
    default:
      break;
  }
  ISOBIT_CHECK(!"this build has no kernels for that instruction set");
  return pick<T>(a::reference::kTableF32, a::reference::kTableF64);
}

}  // namespace

template <class T>
void relu(const KernelContext& ctx, int64_t n, const T* src, T* dst) {
  const auto f = table<T>(ctx.isa).relu;
  ctx.pool->parallel_for(n, kCheap, [&](int64_t b, int64_t e) { f(e - b, src + b, dst + b); });
}

template <class T>
void relu_grad(const KernelContext& ctx, int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  const auto f = table<T>(ctx.isa).relu_grad;
  ctx.pool->parallel_for(n, kCheap, [&](int64_t b, int64_t e) { f(e - b, src + b, diff_dst + b, diff_src + b); });
}

template <class T>
void leaky_relu(const KernelContext& ctx, int64_t n, T alpha, const T* src, T* dst) {
  const auto f = table<T>(ctx.isa).leaky_relu;
  ctx.pool->parallel_for(n, kCheap, [&](int64_t b, int64_t e) { f(e - b, alpha, src + b, dst + b); });
}

template <class T>
void leaky_relu_grad(const KernelContext& ctx, int64_t n, T alpha, const T* src, const T* diff_dst, T* diff_src) {
  const auto f = table<T>(ctx.isa).leaky_relu_grad;
  ctx.pool->parallel_for(n, kCheap,
                         [&](int64_t b, int64_t e) { f(e - b, alpha, src + b, diff_dst + b, diff_src + b); });
}

template <class T>
void sigmoid(const KernelContext& ctx, int64_t n, const T* src, T* dst) {
  const auto f = table<T>(ctx.isa).sigmoid;
  ctx.pool->parallel_for(n, kCostly, [&](int64_t b, int64_t e) { f(e - b, src + b, dst + b); });
}

template <class T>
void sigmoid_grad(const KernelContext& ctx, int64_t n, const T* dst, const T* diff_dst, T* diff_src) {
  const auto f = table<T>(ctx.isa).sigmoid_grad;
  ctx.pool->parallel_for(n, kCheap, [&](int64_t b, int64_t e) { f(e - b, dst + b, diff_dst + b, diff_src + b); });
}

template <class T>
void tanh(const KernelContext& ctx, int64_t n, const T* src, T* dst) {
  const auto f = table<T>(ctx.isa).tanh;
  ctx.pool->parallel_for(n, kCostly, [&](int64_t b, int64_t e) { f(e - b, src + b, dst + b); });
}

template <class T>
void tanh_grad(const KernelContext& ctx, int64_t n, const T* dst, const T* diff_dst, T* diff_src) {
  const auto f = table<T>(ctx.isa).tanh_grad;
  ctx.pool->parallel_for(n, kCheap, [&](int64_t b, int64_t e) { f(e - b, dst + b, diff_dst + b, diff_src + b); });
}

template <class T>
void gelu(const KernelContext& ctx, GeluForm form, int64_t n, const T* src, T* dst) {
  const auto f = table<T>(ctx.isa).gelu;
  ctx.pool->parallel_for(n, kCostly, [&](int64_t b, int64_t e) { f(form, e - b, src + b, dst + b); });
}

template <class T>
void gelu_grad(const KernelContext& ctx, GeluForm form, int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  const auto f = table<T>(ctx.isa).gelu_grad;
  ctx.pool->parallel_for(n, kCostly,
                         [&](int64_t b, int64_t e) { f(form, e - b, src + b, diff_dst + b, diff_src + b); });
}

#define ISOBIT_INSTANTIATE(T)                                                                 \
  template void relu<T>(const KernelContext&, int64_t, const T*, T*);                         \
  template void relu_grad<T>(const KernelContext&, int64_t, const T*, const T*, T*);          \
  template void leaky_relu<T>(const KernelContext&, int64_t, T, const T*, T*);                \
  template void leaky_relu_grad<T>(const KernelContext&, int64_t, T, const T*, const T*, T*); \
  template void sigmoid<T>(const KernelContext&, int64_t, const T*, T*);                      \
  template void sigmoid_grad<T>(const KernelContext&, int64_t, const T*, const T*, T*);       \
  template void tanh<T>(const KernelContext&, int64_t, const T*, T*);                         \
  template void tanh_grad<T>(const KernelContext&, int64_t, const T*, const T*, T*);          \
  template void gelu<T>(const KernelContext&, GeluForm, int64_t, const T*, T*);               \
  template void gelu_grad<T>(const KernelContext&, GeluForm, int64_t, const T*, const T*, T*);
ISOBIT_INSTANTIATE(float)
ISOBIT_INSTANTIATE(double)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
