#include "isobit/kernels/product/matrix_product.h"

#include <type_traits>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/kernels/matmul/matmul.h"

namespace isobit::kernels {
namespace {

template <class T>
void multiply_in_order(const KernelContext& kernel, const GemmArgs<T>& g) {
  MatmulArgs<T> p;
  p.m = g.m, p.n = g.n, p.k = g.k;
  p.a = g.a;
  p.a_row_stride = g.transpose_a ? 1 : g.lda, p.a_col_stride = g.transpose_a ? g.lda : 1;
  p.b = g.b;
  p.b_row_stride = g.transpose_b ? 1 : g.ldb, p.b_col_stride = g.transpose_b ? g.ldb : 1;
  p.c = g.c, p.c_row_stride = g.ldc;
  matmul(kernel, p);
}

template <class T>
int64_t largest_of(const GemmArgs<T>& args) {
  return std::max({args.m, args.n, args.k, args.lda, args.ldb, args.ldc});
}

}  // namespace

void MatrixProduct::product(const GemmArgs<float>&) { ISOBIT_CHECK(!"a float32 product that is said to be had"); }
void MatrixProduct::product(const GemmArgs<double>&) { ISOBIT_CHECK(!"a float64 product that is said to be had"); }

template <class T>
Status MatrixProduct::checked(const GemmArgs<T>& args) {
  ISOBIT_CHECK(args.m >= 0 && args.n >= 0 && args.k >= 0);
  constexpr bool kF64 = std::is_same_v<T, double>;
  if (!(kF64 ? has_f64() : has_f32())) {
    const char* type = kF64 ? "float64" : "float32";
    return unavailable(text_of(name(), ": this library has no ", type, " product; choose another for ", type));
  }
  if (args.m == 0 || args.n == 0) return {};
  if (args.k == 0) {
    for (int64_t i = 0; i < args.m; ++i) std::fill_n(args.c + i * args.ldc, args.n, T{0});
    return {};
  }
  ISOBIT_CHECK(args.lda >= (args.transpose_a ? args.m : args.k));
  ISOBIT_CHECK(args.ldb >= (args.transpose_b ? args.k : args.n));
  ISOBIT_CHECK(args.ldc >= args.n);
  if (largest_of(args) > largest_size()) {
    if (!fallback_) {
      return unavailable(
          text_of(name(), ": a size of ", largest_of(args), ", the library takes up to ", largest_size()));
    }
    ++fallen_back_;
    multiply_in_order(*fallback_, args);
    return {};
  }
  // Not the product's doing, and not to be put right here: whoever runs the step refuses it.
  if (const std::string fault = fp_environment_fault(); !fault.empty()) {
    return unavailable(text_of(name(), ": called with another floating-point environment (", fault, ")"));
  }
  product(args);
  if (!fp_environment_is_standard()) {
    pin_fp_environment();
    return unavailable(text_of(name(),
                               ": a product left the thread with another rounding mode or with flush to zero; its "
                               "results cannot be used, use another platform"));
  }
  return {};
}
template Status MatrixProduct::checked(const GemmArgs<float>&);
template Status MatrixProduct::checked(const GemmArgs<double>&);

void OrderedProduct::product(const GemmArgs<float>& args) { multiply_in_order(kernel_, args); }
void OrderedProduct::product(const GemmArgs<double>& args) { multiply_in_order(kernel_, args); }

}  // namespace isobit::kernels
