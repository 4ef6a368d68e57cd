#include "bench/vendors.h"

#include <dlfcn.h>
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

#include "isobit/base/text.h"

namespace isobit::bench {
namespace {

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

struct OpenBlas {
  Sgemm sgemm = nullptr;
  void (*set_threads)(int) = nullptr;
  char* (*config)() = nullptr;

  OpenBlas() {
    const char* path = std::getenv("ISOBIT_OPENBLAS");
    if (!path) path = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0";
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "OpenBLAS is left out: %s\n", dlerror());
      return;
    }
    sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
    set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    config = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_config"));
    if (!set_threads || !config) sgemm = nullptr;
  }
};

const OpenBlas& openblas() {
  static const OpenBlas library;
  return library;
}

}  // namespace

bool openblas_available() { return openblas().sgemm != nullptr; }

void openblas_sgemm(int threads, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, float* c) {
  constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;
  openblas().set_threads(threads);
  openblas().sgemm(kRowMajor, transpose_a ? kTrans : kNoTrans, transpose_b ? kTrans : kNoTrans, static_cast<int>(m),
                   static_cast<int>(n), static_cast<int>(k), 1.0f, a, static_cast<int>(transpose_a ? m : k), b,
                   static_cast<int>(transpose_b ? k : n), 0.0f, c, static_cast<int>(n));
}

std::string openblas_config() { return openblas_available() ? openblas().config() : "absent"; }

void set_openmp_threads(int threads) { omp_set_num_threads(threads); }

void onednn_sgemm(int threads, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                  const float* b, float* c) {
  set_openmp_threads(threads);
  dnnl::sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f, a, transpose_a ? m : k, b,
              transpose_b ? k : n, 0.0f, c, n);
}

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return text_of(v->major, ".", v->minor, ".", v->patch);
}

}  // namespace isobit::bench
