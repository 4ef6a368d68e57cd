#include "isobit/kernels/activation/activation.h"

#include "isobit/kernels/activation/table.h"
#include "isobit/kernels/elements.h"

namespace isobit::kernels {
namespace {

using activation::table_of;

// Elements worth a thread: where memory sets the pace, and where a function does.
constexpr int64_t kCheap = 16384, kCostly = 4096;

}  // namespace

template <class T>
void relu(const KernelContext& ctx, int64_t n, const T* src, T* dst) {
  const auto f = table_of<T>(ctx.isa).relu;
  for_elements(ctx, n, kCheap, [&](int64_t b, int64_t e) { f(e - b, src + b, dst + b); });
}

template <class T>
void relu_grad(const KernelContext& ctx, int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  const auto f = table_of<T>(ctx.isa).relu_grad;
  for_elements(ctx, n, kCheap, [&](int64_t b, int64_t e) { f(e - b, src + b, diff_dst + b, diff_src + b); });
}

template <class T>
void leaky_relu(const KernelContext& ctx, int64_t n, T alpha, const T* src, T* dst) {
  const auto f = table_of<T>(ctx.isa).leaky_relu;
  for_elements(ctx, n, kCheap, [&](int64_t b, int64_t e) { f(e - b, alpha, src + b, dst + b); });
}

template <class T>
void leaky_relu_grad(const KernelContext& ctx, int64_t n, T alpha, const T* src, const T* diff_dst, T* diff_src) {
  const auto f = table_of<T>(ctx.isa).leaky_relu_grad;
  for_elements(ctx, n, kCheap, [&](int64_t b, int64_t e) { f(e - b, alpha, src + b, diff_dst + b, diff_src + b); });
}

template <class T>
void sigmoid(const KernelContext& ctx, int64_t n, const T* src, T* dst) {
  const auto f = table_of<T>(ctx.isa).sigmoid;
  for_elements(ctx, n, kCostly, [&](int64_t b, int64_t e) { f(e - b, src + b, dst + b); });
}

template <class T>
void sigmoid_grad(const KernelContext& ctx, int64_t n, const T* dst, const T* diff_dst, T* diff_src) {
  const auto f = table_of<T>(ctx.isa).sigmoid_grad;
  for_elements(ctx, n, kCheap, [&](int64_t b, int64_t e) { f(e - b, dst + b, diff_dst + b, diff_src + b); });
}

template <class T>
void tanh(const KernelContext& ctx, int64_t n, const T* src, T* dst) {
  const auto f = table_of<T>(ctx.isa).tanh;
  for_elements(ctx, n, kCostly, [&](int64_t b, int64_t e) { f(e - b, src + b, dst + b); });
}

template <class T>
void tanh_grad(const KernelContext& ctx, int64_t n, const T* dst, const T* diff_dst, T* diff_src) {
  const auto f = table_of<T>(ctx.isa).tanh_grad;
  for_elements(ctx, n, kCheap, [&](int64_t b, int64_t e) { f(e - b, dst + b, diff_dst + b, diff_src + b); });
}

template <class T>
void gelu(const KernelContext& ctx, GeluForm form, int64_t n, const T* src, T* dst) {
  const auto f = table_of<T>(ctx.isa).gelu;
  for_elements(ctx, n, kCostly, [&](int64_t b, int64_t e) { f(form, e - b, src + b, dst + b); });
}

template <class T>
void gelu_grad(const KernelContext& ctx, GeluForm form, int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  const auto f = table_of<T>(ctx.isa).gelu_grad;
  for_elements(ctx, n, kCostly, [&](int64_t b, int64_t e) { f(form, e - b, src + b, diff_dst + b, diff_src + b); });
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
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
