// Correct arithmetic (`correct-1` matmul) against the same float64 product without filter and repair.
//
//   correct_bench [--rounds N] [--threads T] [--product ordered|openblas] [--integer plain|amx] [--only TEXT]
//
// With --integer the correct run takes integer products (kernels/correct/integer), the plain one the float64 product.
// For each shape the two run alternately, N times; printed are the medians of their times, the median of the ratios,
// and how many outputs were repaired. The plain run converts both operands to float64 as a whole, calls the product
// once over all of k and rounds; both keep their working memory between rounds. A sample of the results is checked
// against the exact accumulator before anything is timed.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/common.h"
#include "bench/openblas_product.h"
#include "isobit/kernels/correct/integer/backend.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/reference.h"
#include "isobit/kernels/correct/table.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/numerics/bits.h"

namespace isobit::bench {
namespace {

namespace correct = kernels::correct;

struct Size {
  const char* group;
  int64_t m, n, k;
  bool transpose_a, transpose_b;
};

constexpr Size kSizes[] = {
    {"gpt2", 1024, 768, 3072, false, false},      {"gpt2", 1024, 3072, 768, false, false},
    {"gpt2", 1024, 50257, 768, false, true},      {"gpt2-grad", 1024, 3072, 768, false, true},
    {"gpt2-grad", 3072, 768, 1024, true, false},  {"gpt2-grad", 768, 3072, 1024, true, false},
    {"gpt2-grad", 50257, 768, 1024, true, false}, {"resnet", 64, 3136, 576, false, false},
    {"resnet", 512, 49, 4608, false, false},      {"resnet", 2048, 49, 512, false, false},
    {"resnet", 512, 1568, 4608, false, false},    {"resnet-grad", 512, 4608, 1568, false, true},
    {"long", 1024, 768, 50257, false, false},     {"long", 64, 576, 50176, false, true},
};

struct Run {
  Size size;
  std::vector<float> a, b, c, plain;
  std::unique_ptr<double[]> a64, b64, c64;
  correct::Workspace workspace;

  explicit Run(const Size& s) : size(s), a(random_floats(s.m * s.k, 1)), b(random_floats(s.k * s.n, 2)) {
    c.assign(static_cast<size_t>(s.m * s.n), NAN);
    plain = c;
    a64.reset(new double[a.size()]);
    b64.reset(new double[b.size()]);
    c64.reset(new double[c.size()]);
  }
  kernels::MatmulArgs<float> args() {
    kernels::MatmulArgs<float> p;
    p.m = size.m, p.n = size.n, p.k = size.k;
    p.a = a.data(), p.a_row_stride = size.transpose_a ? 1 : size.k, p.a_col_stride = size.transpose_a ? size.m : 1;
    p.b = b.data(), p.b_row_stride = size.transpose_b ? 1 : size.n, p.b_col_stride = size.transpose_b ? size.k : 1;
    p.c = c.data(), p.c_row_stride = size.n;
    return p;
  }
  void run_plain(const kernels::KernelContext& kernel, kernels::MatrixProduct& product) {
    const correct::Table& loops = correct::table_of(kernel.isa);
    const auto widen = [&](const std::vector<float>& from, double* to) {
      kernel.pool->parallel_for(static_cast<int64_t>(from.size()), 16384, [&](int64_t begin, int64_t end) {
        loops.widen(end - begin, from.data() + begin, to + begin);
      });
    };
    widen(a, a64.get());
    widen(b, b64.get());
    const kernels::GemmArgs<double> args = {.transpose_a = size.transpose_a,
                                            .transpose_b = size.transpose_b,
                                            .m = size.m,
                                            .n = size.n,
                                            .k = size.k,
                                            .a = a64.get(),
                                            .lda = size.transpose_a ? size.m : size.k,
                                            .b = b64.get(),
                                            .ldb = size.transpose_b ? size.k : size.n,
                                            .c = c64.get(),
                                            .ldc = size.n};
    if (!product.multiply(args)) std::exit(1);
    kernel.pool->parallel_for(size.m * size.n, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) plain[static_cast<size_t>(i)] = static_cast<float>(c64[i]);
    });
  }
  void check() {
    for (int64_t sample = 0; sample < 50; ++sample) {
      const int64_t i = sample * 7919 % size.m, j = sample * 104729 % size.n;
      kernels::MatmulArgs<float> one = args();
      float exact = 0;
      one.m = one.n = 1;
      one.a += i * one.a_row_stride;
      one.b += j * one.b_col_stride;
      one.c = &exact;
      correct::reference::matmul(one);
      const float found = c[static_cast<size_t>(i * size.n + j)];
      const double near = static_cast<double>(plain[static_cast<size_t>(i * size.n + j)]);
      require_near("plain", static_cast<double>(exact), near, 1e-6 * std::fabs(near) + 1e-9);
      if (numerics::bits_of(exact) == numerics::bits_of(found)) continue;
      std::fprintf(stderr, "not correctly rounded at %lld, %lld\n", static_cast<long long>(i),
                   static_cast<long long>(j));
      std::exit(1);
    }
  }
};

// The ratio of the medians' runs.
double measure(const Size& size, int threads, int rounds, const char* name, kernels::MatrixProduct& product,
               correct::integer::Backend* integer) {
  Run run(size);
  const kernels::KernelContext kernel{kernels::best_isa(), &pool_of(threads)};
  correct::Statistics statistics;
  const auto correct_once = [&] {
    const Status status = correct::matmul({.kernel = kernel,
                                           .product = &product,
                                           .workspace = &run.workspace,
                                           .statistics = &statistics,
                                           .integer = integer},
                                          run.args());
    if (!status) std::exit(1);
  };
  run.run_plain(kernel, product);
  correct_once();
  run.check();
  statistics = {};
  std::vector<double> plain, full, ratio;
  for (int round = 0; round < rounds; ++round) {
    const double t0 = seconds(threads);
    run.run_plain(kernel, product);
    const double t1 = seconds(threads);
    correct_once();
    const double t2 = seconds(threads);
    plain.push_back(t1 - t0);
    full.push_back(t2 - t1);
    ratio.push_back((t2 - t1) / (t1 - t0));
  }
  const double elements = static_cast<double>(statistics.elements);
  std::printf(
      "%-9s %-11s %d  %5lld x %5lld x %5lld %s%s  plain %9.3f ms  correct %9.3f ms  ratio %.3f  repaired %.1e"
      "  exact %.1e\n",
      name, size.group, threads, static_cast<long long>(size.m), static_cast<long long>(size.n),
      static_cast<long long>(size.k), size.transpose_a ? "At" : "  ", size.transpose_b ? "Bt" : "  ",
      1e3 * median(plain), 1e3 * median(full), median(ratio), static_cast<double>(statistics.repaired) / elements,
      static_cast<double>(statistics.exact) / elements);
  std::fflush(stdout);
  return median(ratio);
}

void measure_all(int threads, int rounds, const char* name, kernels::MatrixProduct& product,
                 correct::integer::Backend* integer, const std::string& only) {
  double logs = 0;
  int shapes = 0;
  for (const Size& size : kSizes) {
    const std::string text = std::string(size.group) + "/" + std::to_string(size.m) + "x" + std::to_string(size.n) +
                             "x" + std::to_string(size.k);
    if (text.find(only) == std::string::npos) continue;
    const double ratio = measure(size, threads, rounds, name, product, integer);
    if (std::strcmp(size.group, "long") == 0) continue;
    logs += std::log(ratio);
    ++shapes;
  }
  if (shapes > 0) {
    std::printf("%-9s %d thread(s): geometric mean of %d shapes (without `long`) %.3f\n", name, threads, shapes,
                std::exp(logs / shapes));
  }
}

}  // namespace
}  // namespace isobit::bench

int main(int argc, char** argv) {
  using namespace isobit;
  bench::restart_with_best_core(argv);
  int rounds = 7, threads = 0;
  std::string product = "ordered", integer, only;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--rounds") rounds = std::atoi(argv[i + 1]);
    if (key == "--threads") threads = std::atoi(argv[i + 1]);
    if (key == "--product") product = argv[i + 1];
    if (key == "--integer") integer = argv[i + 1];
    if (key == "--only") only = argv[i + 1];
  }
  namespace integers = kernels::correct::integer;
  std::unique_ptr<integers::Backend> backend;
  if (integer == "plain") {
    backend = std::make_unique<integers::Backend>(integers::plain_unit(kernels::best_isa()));
  } else if (integer == "amx" && integers::amx_available()) {
    backend = std::make_unique<integers::Backend>(integers::amx_unit());
  } else if (!integer.empty()) {
    std::fprintf(stderr, "--integer: this machine has no '%s'\n", integer.c_str());
    return 1;
  }
  for (const int t : {1, 2}) {
    if (threads != 0 && threads != t) continue;
    if (product == "openblas") {
      bench::OpenBlasProduct openblas;
      if (!openblas.available()) {
        std::fprintf(stderr, "OpenBLAS is not there; set ISOBIT_OPENBLAS to its path\n");
        return 1;
      }
      openblas.use(t);
      bench::measure_all(t, rounds, "openblas", openblas, backend.get(), only);
    } else {
      kernels::OrderedProduct ordered({kernels::best_isa(), &bench::pool_of(t)});
      bench::measure_all(t, rounds, "ordered", ordered, backend.get(), only);
    }
  }
  return 0;
}
