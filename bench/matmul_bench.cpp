// float32 matmul against OpenBLAS, MKL and oneDNN, of which both its sgemm and its matmul primitive take part; and
// `correct-1` as platform `ordered` computes it, where --libraries names it.
#include <cmath>
#include <cstdio>
#include <memory>

#include "bench/alternate.h"
#include "bench/threads.h"
#include "isobit/base/text.h"
#include "isobit/kernels/correct/integer/backend.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/reference.h"
#include "isobit/kernels/correct/watch.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/matmul/reference.h"
#include "isobit/numerics/bits.h"

namespace isobit::bench {
namespace {

struct Size {
  std::string group;
  int64_t m, n, k;
  bool transpose_a, transpose_b;
};

// A linear layer of that many rows: its output and both gradients. `out_first`: its weights are [out, in].
void add_linear(std::vector<Size>& sizes, const std::string& group, int64_t rows, int64_t in, int64_t out,
                bool out_first) {
  sizes.push_back({group, rows, out, in, false, out_first});
  sizes.push_back({group + " grad", rows, in, out, false, !out_first});
  if (out_first) {
    sizes.push_back({group + " grad", out, in, rows, true, false});
  } else {
    sizes.push_back({group + " grad", in, out, rows, true, false});
  }
}

std::vector<Size> sizes() {
  std::vector<Size> all;
  for (const int64_t n : {512, 1024, 2048}) all.push_back({"square", n, n, n, false, false});
  for (const auto& [group, rows] : {std::pair("gpt2 B=4 T=64", 256), std::pair("gpt2 B=2 T=512", 1024)}) {
    for (const auto& [in, out] :
         {std::pair(768, 2304), std::pair(768, 768), std::pair(768, 3072), std::pair(3072, 768)}) {
      add_linear(all, group, rows, in, out, false);
    }
    add_linear(all, group, rows, 768, 50257, true);
  }
  add_linear(all, "vgg11 B=16", 16, 25088, 4096, true);
  add_linear(all, "vgg11 B=16", 16, 4096, 4096, true);
  all.insert(all.end(), {{"resnet", 64, 3136, 576, false, false},
                         {"resnet", 512, 49, 4608, false, false},
                         {"resnet", 2048, 49, 512, false, false},
                         {"resnet", 512, 1568, 4608, false, false},
                         {"resnet grad", 64, 576, 50176, false, true},
                         {"resnet grad", 512, 4608, 1568, false, true}});
  add_linear(all, "digits B=32", 32, 512, 128, true);
  add_linear(all, "digits B=32", 32, 128, 10, true);
  add_linear(all, "mnist B=64", 64, 1568, 128, true);
  add_linear(all, "mnist B=64", 64, 128, 10, true);
  add_linear(all, "tiny-gpt B=16 T=64", 1024, 64, 192, true);
  add_linear(all, "tiny-gpt B=16 T=64", 1024, 64, 256, true);
  return all;
}

struct Data {
  Size size;
  Operand a, b, c;

  explicit Data(const Size& s) : size(s), a(s.m * s.k, 1), b(s.k * s.n, 2), c(s.m * s.n, 3) {}

  Product product() const {
    return {size.m, size.n, size.k, size.transpose_a, size.transpose_b, a.data(), b.data(), c.data()};
  }
  kernels::MatmulArgs<float> args() const {
    kernels::MatmulArgs<float> p;
    p.m = size.m, p.n = size.n, p.k = size.k;
    p.a = a.data(), p.a_row_stride = size.transpose_a ? 1 : size.k, p.a_col_stride = size.transpose_a ? size.m : 1;
    p.b = b.data(), p.b_row_stride = size.transpose_b ? 1 : size.n, p.b_col_stride = size.transpose_b ? size.k : 1;
    p.c = c.data(), p.c_row_stride = size.n;
    return p;
  }
};

using Reference = void (*)(const kernels::MatmulArgs<float>&);

// What `correct-1` keeps from product to product.
struct Correct {
  kernels::OrderedProduct product;
  std::unique_ptr<kernels::correct::integer::Backend> unit = kernels::correct::integer::open_matrix_unit();
  kernels::correct::Workspace workspace = {};
  kernels::correct::Watch watch = kernels::correct::Watch();

  explicit Correct(const kernels::KernelContext& ctx) : product(ctx) {}
};

void require_reference_bits(const std::string& name, const kernels::MatmulArgs<float>& p, Reference reference,
                            int64_t i, int64_t j) {
  float written = 0;
  kernels::MatmulArgs<float> one = p;
  one.m = one.n = 1;
  one.a += i * p.a_row_stride;
  one.b += j * p.b_col_stride;
  one.c = &written;
  reference(one);
  if (numerics::bits_of(written) == numerics::bits_of(p.c[i * p.c_row_stride + j])) return;
  std::fprintf(stderr, "%s differs from the reference at %lld, %lld\n", name.c_str(), static_cast<long long>(i),
               static_cast<long long>(j));
  std::exit(1);
}

// A sample of the outputs: near the binary64 sum for everyone, and bit for bit the reference's for isobit (null for
// others). What is checked is spoilt, so that it is not taken for the next one's.
void check(const std::string& name, const Data& d, Reference reference) {
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
    require_near(name, sum, static_cast<double>(p.c[i * p.c_row_stride + j]), 1e-5 * magnitude);
    if (reference != nullptr) require_reference_bits(name, p, reference, i, j);
  }
  std::fill_n(d.c.data(), d.c.size(), NAN);
}

std::vector<Contestant> prepare(const std::string& name, const Size& size, const Setting& setting) {
  const auto data = std::make_shared<Data>(size);
  std::vector<Contestant> all;
  const auto add = [&](const std::string& who, const Prepared& prepared, Reference reference = nullptr) {
    all.push_back({who, prepared, [=] { check(text_of(name, " of ", who), *data, reference); }});
  };
  const kernels::KernelContext ctx{kernels::best_isa(), &pool_of(setting.threads)};
  if (setting.wanted("isobit")) {
    add("isobit", {[=] { kernels::matmul(ctx, data->args()); }, {}}, kernels::reference::matmul);
  }
  if (setting.wanted("correct-1")) {
    const auto run = [=, correct = std::make_shared<Correct>(ctx)] {
      const Status done = kernels::correct::matmul({.kernel = ctx,
                                                    .product = &correct->product,
                                                    .workspace = &correct->workspace,
                                                    .watch = &correct->watch,
                                                    .integer = correct->unit.get()},
                                                   data->args());
      if (!done) bench::end(done.error().message);
    };
    add("correct-1", {run, {}}, kernels::correct::reference::matmul);
  }
  for (const Rival& rival : setting.blas) {
    add(rival.name, {[data, sgemm = rival.sgemm] { sgemm(data->product()); }, {}});
  }
  if (setting.wanted("onednn")) {
    add("onednn:sgemm", {[data] { onednn::sgemm(data->product()); }, {}});
    add("onednn:matmul", onednn::matmul(data->product()));
  }
  return all;
}

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Size& s : sizes()) {
    const std::string name = text_of("matmul/", s.group, "/", s.m, "x", s.n, "x", s.k, s.transpose_a ? " At" : "",
                                     s.transpose_b ? " Bt" : "");
    all.push_back({name, 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k),
                   [=](const Setting& setting) { return prepare(name, s, setting); }});
  }
  return all;
}

}  // namespace isobit::bench
