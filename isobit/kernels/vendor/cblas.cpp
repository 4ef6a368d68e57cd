#include "isobit/kernels/vendor/cblas.h"

namespace isobit::kernels::vendor {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

template <class T>
using CblasGemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha, const T* a, int lda,
                       const T* b, int ldb, T beta, T* c, int ldc);

class CblasProduct final : public VendorProduct {
 public:
  CblasProduct(VendorRecord record, std::function<void()> set_threads, CblasGemm<float>* sgemm,
               CblasGemm<double>* dgemm)
      : VendorProduct(std::move(record)), set_threads_(std::move(set_threads)), sgemm_(sgemm), dgemm_(dgemm) {}
  bool has_f32() const override { return true; }
  bool has_f64() const override { return true; }

 private:
  void product(const GemmArgs<float>& args) override { call(sgemm_, args); }
  void product(const GemmArgs<double>& args) override { call(dgemm_, args); }

  template <class T>
  void call(CblasGemm<T>* function, const GemmArgs<T>& args) {
    if (set_threads_) set_threads_();
    const auto size = [](int64_t n) { return static_cast<int>(n); };
    function(kRowMajor, args.transpose_a ? kTranspose : kNoTranspose, args.transpose_b ? kTranspose : kNoTranspose,
             size(args.m), size(args.n), size(args.k), T{1}, args.a, size(args.lda), args.b, size(args.ldb), T{0},
             args.c, size(args.ldc));
  }

  std::function<void()> set_threads_;
  CblasGemm<float>* sgemm_;
  CblasGemm<double>* dgemm_;
};

}  // namespace

Expected<std::unique_ptr<VendorProduct>> make_cblas_product(const Library& library, VendorRecord record,
                                                            std::function<void()> set_threads) {
  CblasGemm<float>* sgemm = nullptr;
  CblasGemm<double>* dgemm = nullptr;
  ISOBIT_RETURN_IF_ERROR(library.find("cblas_sgemm", sgemm));
  ISOBIT_RETURN_IF_ERROR(library.find("cblas_dgemm", dgemm));
  return std::make_unique<CblasProduct>(std::move(record), std::move(set_threads), sgemm, dgemm);
}

}  // namespace isobit::kernels::vendor
