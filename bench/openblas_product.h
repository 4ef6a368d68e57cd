// The float64 product of OpenBLAS as it is: opened by path, without the checks of kernels/vendor.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/product/matrix_product.h"

namespace isobit::bench {

// OpenBLAS reads its environment when it is loaded, and 0.3.21 takes CPUs that are newer than itself for a Prescott.
inline void restart_with_best_core(char** argv) {
  if (std::getenv("OPENBLAS_CORETYPE")) return;
  setenv("OPENBLAS_CORETYPE", kernels::isa_available(kernels::Isa::kAvx512) ? "SkylakeX" : "Haswell", 0);
  execv("/proc/self/exe", argv);
}

class OpenBlasProduct final : public kernels::MatrixProduct {
 public:
  std::string name() const override { return "openblas"; }
  OpenBlasProduct() {
    setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0);  // as kernels/vendor/openblas does
    const char* path = std::getenv("ISOBIT_OPENBLAS");
    void* library = dlopen(path ? path : "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0", RTLD_NOW);
    if (!library) return;
    dgemm_ = reinterpret_cast<Dgemm>(dlsym(library, "cblas_dgemm"));
    set_threads_ = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  }
  bool available() const { return dgemm_ != nullptr && set_threads_ != nullptr; }
  void use(int threads) { set_threads_(threads); }
  bool has_f64() const override { return true; }
  void product(const kernels::GemmArgs<double>& g) override {
    const auto& [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = g;
    const auto i = [](int64_t x) { return static_cast<int>(x); };
    dgemm_(101, ta ? 112 : 111, tb ? 112 : 111, i(m), i(n), i(k), 1.0, a, i(lda), b, i(ldb), 0.0, c, i(ldc));
  }

 private:
  using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                         int);
  Dgemm dgemm_ = nullptr;
  void (*set_threads_)(int) = nullptr;
};

}  // namespace isobit::bench
