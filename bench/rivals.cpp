#include "bench/rivals.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace isobit::bench {
namespace {

using CblasSgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                            int);

class Library {
 public:
  explicit Library(const std::string& file) {
    const char* folder = std::getenv("ISOBIT_BENCH_LIBRARIES");
    handle_ = dlopen((std::string(folder ? folder : ISOBIT_BENCH_LIBRARIES) + "/lib/" + file).c_str(), RTLD_NOW);
    if (!handle_) std::fprintf(stderr, "left out: %s\n", dlerror());
  }
  template <class F>
  F function(const char* name) const {
    return handle_ ? reinterpret_cast<F>(dlsym(handle_, name)) : nullptr;
  }

 private:
  void* handle_ = nullptr;  // never closed: its threads outlive any one use
};

std::function<void(const Product&)> row_major(CblasSgemm sgemm) {
  return [sgemm](const Product& p) {
    constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;
    const auto i = [](int64_t x) { return static_cast<int>(x); };
    sgemm(kRowMajor, p.transpose_a ? kTrans : kNoTrans, p.transpose_b ? kTrans : kNoTrans, i(p.m), i(p.n), i(p.k), 1.0f,
          p.a, i(p.transpose_a ? p.m : p.k), p.b, i(p.transpose_b ? p.k : p.n), 0.0f, p.c, i(p.n));
  };
}

Rival openblas(int threads) {
  const Library library("libscipy_openblas.so");
  const auto sgemm = library.function<CblasSgemm>("scipy_cblas_sgemm");
  const auto set_threads = library.function<void (*)(int)>("scipy_openblas_set_num_threads");
  const auto config = library.function<char* (*)()>("scipy_openblas_get_config");
  if (!sgemm || !set_threads || !config) return {};
  set_threads(threads);
  return {"openblas", config(), row_major(sgemm)};
}

Rival mkl(int threads) {
  const Library library("libmkl_rt.so.3");
  const auto sgemm = library.function<CblasSgemm>("cblas_sgemm");
  const auto set_threads = library.function<void (*)(int)>("MKL_Set_Num_Threads");
  const auto version = library.function<void (*)(char*, int)>("MKL_Get_Version_String");
  if (!sgemm || !set_threads || !version) return {};
  set_threads(threads);
  char text[200] = "";
  version(text, sizeof text - 1);
  std::string trimmed = text;
  trimmed.erase(trimmed.find_last_not_of(' ') + 1);
  return {"mkl", trimmed, row_major(sgemm)};
}

}  // namespace

std::vector<Rival> blas_libraries(int threads, const std::function<bool(const std::string&)>& wanted) {
  std::vector<Rival> found;
  if (wanted("openblas")) found.push_back(openblas(threads));
  if (wanted("mkl")) found.push_back(mkl(threads));
  std::erase_if(found, [](const Rival& rival) { return rival.name.empty(); });
  return found;
}

}  // namespace isobit::bench
