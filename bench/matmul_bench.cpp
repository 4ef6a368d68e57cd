// float32 matmul against OpenBLAS and oneDNN: matmul/SHAPE/LIBRARY/THREADS.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench/vendors.h"
#include "isobit/base/text.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/matmul/reference.h"
#include "isobit/numerics/bits.h"

namespace isobit::bench {
namespace {

struct Size {
  const char* group;
  int64_t m, n, k;
  bool transpose_a, transpose_b;
};

constexpr Size kSizes[] = {
    {"square", 512, 512, 512, false, false},       {"square", 1024, 1024, 1024, false, false},
    {"square", 2048, 2048, 2048, false, false},    {"gpt2", 1024, 768, 3072, false, false},
    {"gpt2", 1024, 3072, 768, false, false},       {"gpt2", 1024, 50257, 768, false, true},
    {"gpt2-grad", 1024, 3072, 768, false, true},   {"gpt2-grad", 3072, 768, 1024, true, false},
    {"gpt2-grad", 768, 3072, 1024, true, false},   {"gpt2-grad", 1024, 768, 50257, false, false},
    {"gpt2-grad", 50257, 768, 1024, true, false},  {"resnet", 64, 3136, 576, false, false},
    {"resnet", 512, 49, 4608, false, false},       {"resnet", 2048, 49, 512, false, false},
    {"resnet", 512, 1568, 4608, false, false},     {"resnet-grad", 64, 576, 50176, false, true},
    {"resnet-grad", 512, 4608, 1568, false, true}, {"small", 64, 64, 64, false, false},
    {"small", 64, 10, 128, false, true},           {"small", 64, 128, 784, false, true},
    {"small", 128, 784, 64, true, false},          {"small", 256, 32, 64, false, false},
};

struct Data {
  Size size;
  std::vector<float> a, b, c;

  explicit Data(const Size& s)
      : size(s),
        a(random_floats(s.m * s.k, 1)),
        b(random_floats(s.k * s.n, 2)),
        c(static_cast<size_t>(s.m * s.n), NAN) {}

  kernels::MatmulArgs<float> args() {
    kernels::MatmulArgs<float> p;
    p.m = size.m;
    p.n = size.n;
    p.k = size.k;
    p.a = a.data();
    p.a_row_stride = size.transpose_a ? 1 : size.k;
    p.a_col_stride = size.transpose_a ? size.m : 1;
    p.b = b.data();
    p.b_row_stride = size.transpose_b ? 1 : size.n;
    p.b_col_stride = size.transpose_b ? size.k : 1;
    p.c = c.data();
    p.c_row_stride = size.n;
    return p;
  }
};

using Run = void (*)(int threads, Data& data);

void run_isobit(int threads, Data& d) { kernels::matmul({kernels::best_isa(), &pool_of(threads)}, d.args()); }
void run_openblas(int threads, Data& d) {
  openblas_sgemm(threads, d.size.transpose_a, d.size.transpose_b, d.size.m, d.size.n, d.size.k, d.a.data(), d.b.data(),
                 d.c.data());
}
void run_onednn(int threads, Data& d) {
  onednn_sgemm(threads, d.size.transpose_a, d.size.transpose_b, d.size.m, d.size.n, d.size.k, d.a.data(), d.b.data(),
               d.c.data());
}

// A sample of the outputs: near the binary64 sum for everyone, and bit for bit the reference's for isobit.
void check(const std::string& name, Data& d, bool ordered) {
  const kernels::MatmulArgs<float> p = d.args();
  for (int64_t sample = 0; sample < 50; ++sample) {
    const int64_t i = sample * 7919 % p.m, j = sample * 104729 % p.n;
    double sum = 0, magnitude = 0;
    for (int64_t l = 0; l < p.k; ++l) {
      const double product = static_cast<double>(p.a[i * p.a_row_stride + l * p.a_col_stride]) *
                             static_cast<double>(p.b[l * p.b_row_stride + j * p.b_col_stride]);
      sum += product;
      magnitude += std::fabs(product);
    }
    const float found = p.c[i * p.c_row_stride + j];
    require_near(name, sum, static_cast<double>(found), 1e-5 * magnitude);
    if (!ordered) continue;
    float written = 0;
    kernels::MatmulArgs<float> one = p;
    one.m = one.n = 1;
    one.a += i * p.a_row_stride;
    one.b += j * p.b_col_stride;
    one.c = &written;
    kernels::reference::matmul(one);
    if (numerics::bits_of(written) != numerics::bits_of(found)) {
      std::fprintf(stderr, "%s differs from the reference at %lld, %lld\n", name.c_str(), static_cast<long long>(i),
                   static_cast<long long>(j));
      std::exit(1);
    }
  }
}

void measure(benchmark::State& state, const std::string& name, const Size& size, int threads, Run run) {
  Data data(size);
  run(threads, data);
  check(name, data, run == run_isobit);
  for (auto _ : state) run(threads, data);
  const double flops = 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

void add(const Size& s, const char* library, int threads, Run run) {
  const std::string name = text_of("matmul/", s.group, "/", s.m, "x", s.n, "x", s.k, s.transpose_a ? " At" : "",
                                   s.transpose_b ? " Bt" : "", "/", library, "/", threads);
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { measure(state, name, s, threads, run); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

void register_benchmarks() {
  for (int threads : {1, 2}) {
    for (const Size& size : kSizes) {
      add(size, "isobit", threads, run_isobit);
      if (openblas_available()) add(size, "openblas", threads, run_openblas);
      add(size, "onednn", threads, run_onednn);
    }
  }
}

}  // namespace isobit::bench
