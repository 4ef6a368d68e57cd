// Inner products as a matrix product computes them, without any correction: what training on a vendor's library gives.
//
// Determinism class: none across platforms. The library chooses order, fusing and kernels; the same platform, thread
// count and shape repeat their bits as far as the library repeats its own for operands at addresses of equal alignment.
// Our part (packing, block sizes, sums over blocks) is a function of the shape alone: the threads of the pool reach no
// bit.
//
// Error bound of a finite result: gamma_(k+2) = (k+2) u / (1 - (k+2) u) times the sum of the magnitudes of its k terms
// and its bias, u = 2^-24 or 2^-53, and where products underflow k + 1 times half the smallest subnormal more; nothing
// is flushed to zero. A product and its sums err by gamma_k, however they are split into blocks; the bias is added
// once, after the product, in one rounded addition. NaN and infinities go where the library's additions take them (a
// NaN keeps no canonical form). Taps on padding or on no output take part as +0 (conv/conv.h); the gradient of src
// leaves them out, and is computed by the ordered kernel where a weight is not finite.
//
// Convolution is im2col (im2col.h) and products over blocks of a few thousand columns, gathered from several images
// where images are small. A product of a size beyond the library's integers is computed by the ordered kernel instead,
// and so is a call whose rows are too long for the workspace. Whatever else a product is refused for (it left another
// floating-point environment) is an error: whoever chose the library should know.
#pragma once

#include <memory>
#include <new>

#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/product/geometry.h"
#include "isobit/kernels/product/im2col.h"
#include "isobit/kernels/product/matrix_product.h"

namespace isobit::kernels {

template <class T>
class PlainInnerProducts final : public InnerProducts<T> {
 public:
  static constexpr int64_t kWorkspaceBytes = int64_t{64} << 20;

  // kernel: the pool for copies and sums, and the ordered kernels to fall back on. workspace_bytes: the most working
  // memory to hold (kept between calls); block sizes, hence bits, depend on it.
  // REQUIRES product not null and one that has type T. Whoever shares it calls it between the calls of this, not
  // during.
  PlainInnerProducts(std::shared_ptr<MatrixProduct> product, const KernelContext& kernel,
                     int64_t workspace_bytes = kWorkspaceBytes);

  Status matmul(const MatmulArgs<T>& args) override;
  Status conv_forward(const ConvShape& shape, const T* src, const T* weights, const T* bias, T* dst) override;
  Status conv_grad_src(const ConvShape& shape, const T* diff_dst, const T* weights, T* diff_src) override;
  Status conv_grad_weights(const ConvShape& shape, const T* src, const T* diff_dst, T* diff_weights) override;

  int64_t products() const { return products_; }               // asked of the library so far
  int64_t refused() const { return product_->fallen_back(); }  // of these, too large and computed by the ordered kernel
  int64_t workspace_held() const { return held_ * static_cast<int64_t>(sizeof(T)); }  // bytes

 private:
  // A row-major matrix somewhere, ld elements from row to row.
  template <class U>
  struct Matrix {
    U* data;
    int64_t ld;
  };
  struct AlignedDelete {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };

  Status multiply(const GemmArgs<T>& args);
  Status multiply_packed(const MatmulArgs<T>& args, int64_t rows_at_once, int64_t columns_at_once);
  // Working memory of three parts, the content of each meaningless; valid until the next call.
  struct WorkParts {
    T *first, *second, *third;
  };
  WorkParts workspace(int64_t first, int64_t second = 0, int64_t third = 0);
  // Columns of a block, so that per_column elements for each and `fixed` more fit into the workspace; 0: not one does.
  std::vector<product::ColumnBlock> blocks_of(const product::Geometry& forward, int64_t per_column,
                                              int64_t fixed) const;
  Matrix<const T> window_matrix(const product::Windows& windows, const product::ColumnBlock& block, const T* planes,
                                T* room);

  std::shared_ptr<MatrixProduct> product_;
  KernelContext kernel_;
  int64_t most_;  // elements of workspace
  int64_t held_ = 0;
  std::unique_ptr<T[], AlignedDelete> memory_;
  int64_t products_ = 0;
};

extern template class PlainInnerProducts<float>;
extern template class PlainInnerProducts<double>;

}  // namespace isobit::kernels
