// What training on a vendor's library costs beyond the library's products: its inner products (im2col, packing, sums
// over blocks) against one plain product of the same size on operands that lie ready.
//
//   vendor_bench [--library L] [--core C] [--threads T] [--rounds N] [--only TEXT]
//
// All run alternately, N times; printed are medians of milliseconds, and the overhead: inner products over plain
// product. `ordered` is our own kernel for the same operation. Every result is compared with it before it is timed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "bench/common.h"
#include "isobit/base/text.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/product/plain_inner_products.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::bench {
namespace {

using kernels::ConvShape;
using kernels::GemmArgs;
using kernels::MatrixProduct;

struct Setting {
  kernels::VendorId id = {"openblas", ""};
  int threads = 1, rounds = 7;
  std::string only;
};

// Processor time on one thread, which other programs on the machine disturb less; wall time on several.
double now(const Setting& setting) {
  timespec t;
  clock_gettime(setting.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

double milliseconds(const Setting& setting, const std::function<void()>& run) {
  const double start = now(setting);
  run();
  return now(setting) - start;
}

template <class T>
std::vector<T> random_values(int64_t n, uint64_t seed) {
  const std::vector<float> v = random_floats(n, seed);
  return {v.begin(), v.end()};
}

std::unique_ptr<MatrixProduct> open(const Setting& setting) {
  auto product = kernels::open_vendor(setting.id, {setting.threads, ""});
  if (product) return std::move(*product);
  std::fprintf(stderr, "%s\n", product.error().message.c_str());
  std::exit(1);
}

// A plain product of this size over memory of its own.
template <class T>
class Plain {
 public:
  Plain(MatrixProduct& product, int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b)
      : product_(product), a_(random_values<T>(m * k, 5)), b_(random_values<T>(k * n, 6)) {
    c_.resize(static_cast<size_t>(m * n));
    args_ = {transpose_a, transpose_b, m, n, k};
    args_.a = a_.data(), args_.lda = transpose_a ? m : k;
    args_.b = b_.data(), args_.ldb = transpose_b ? k : n;
    args_.c = c_.data(), args_.ldc = n;
  }
  void operator()() {
    if (product_.multiply(args_)) return;
    std::fprintf(stderr, "the library refused a plain product\n");
    std::exit(1);
  }

 private:
  MatrixProduct& product_;
  std::vector<T> a_, b_, c_;
  GemmArgs<T> args_;
};

// Both write `result`. Returns the overhead.
template <class T>
double measure(const Setting& setting, const std::string& name, std::vector<T>& result, Plain<T>& plain,
               const std::function<void()>& ordered, const std::function<void()>& vendor, double magnitude) {
  ordered();
  const std::vector<T> expected = result;
  std::fill(result.begin(), result.end(), T(NAN));
  vendor();
  for (size_t i = 0; i < result.size(); ++i) {
    require_near(name, static_cast<double>(expected[i]), static_cast<double>(result[i]),
                 (sizeof(T) == 4 ? 1e-6 : 1e-15) * magnitude);
  }
  std::vector<double> times[3], ratios;
  plain();
  for (int round = 0; round < setting.rounds; ++round) {
    times[0].push_back(milliseconds(setting, [&] { plain(); }));
    times[1].push_back(milliseconds(setting, vendor));
    times[2].push_back(milliseconds(setting, ordered));
    ratios.push_back(times[1].back() / times[0].back());
  }
  std::printf("float%zu  %-46s plain %9.3f  inner products %9.3f  overhead %5.2f  ordered %9.3f\n", 8 * sizeof(T),
              name.c_str(), median(times[0]), median(times[1]), median(ratios), median(times[2]));
  std::fflush(stdout);
  return median(ratios);
}

struct Layer {
  const char* group;
  int64_t n, ic, image, oc, kernel, stride, pad;

  ConvShape shape() const {
    ConvShape s;
    s.n = n, s.ic = ic, s.ih = s.iw = image, s.oc = oc, s.kh = s.kw = kernel, s.stride_h = s.stride_w = stride;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
    return s;
  }
  std::string text(const char* pass) const {
    return text_of(group, "/n", n, " ", ic, ">", oc, " ", image, "x", image, " k", kernel, " s", stride, " ", pass);
  }
};

constexpr Layer kLayers[] = {
    {"resnet", 1, 64, 56, 64, 3, 1, 1},     {"resnet", 1, 512, 7, 2048, 1, 1, 0},
    {"resnet", 32, 512, 7, 512, 3, 1, 1},   {"resnet18", 32, 64, 32, 64, 3, 1, 1},
    {"resnet18", 32, 64, 32, 128, 3, 2, 1}, {"resnet18", 32, 256, 8, 256, 3, 1, 1},
    {"resnet18", 32, 512, 4, 512, 3, 1, 1}, {"resnet18", 32, 128, 16, 256, 1, 2, 0},
    {"digits", 32, 1, 8, 16, 3, 1, 1},      {"digits", 32, 16, 8, 32, 3, 1, 1},
    {"mnist", 64, 1, 28, 8, 5, 1, 2},       {"mnist", 64, 8, 14, 16, 5, 1, 2},
};

template <class T>
void measure_layer(const Setting& setting, const Layer& layer, std::vector<double>& overheads) {
  const ConvShape s = layer.shape();
  const int64_t k = s.ic * s.kh * s.kw, columns = s.n * s.oh() * s.ow();
  auto src = random_values<T>(s.n * s.ic * s.ih * s.iw, 1), weights = random_values<T>(s.oc * k, 2),
       dst = random_values<T>(s.oc * columns, 3);
  const kernels::KernelContext kernel{kernels::best_isa(), &pool_of(setting.threads)};
  auto library = open(setting);
  kernels::PlainInnerProducts<T> products(open(setting), kernel);
  const auto run = [&](const char* pass, std::vector<T>& result, Plain<T> plain, int64_t terms, auto ordered,
                       auto vendor) {
    const std::string name = layer.text(pass);
    if (name.find(setting.only) == std::string::npos) return;
    // All operands are below 1 in magnitude.
    const auto magnitude = static_cast<double>(terms);
    overheads.push_back(measure<T>(setting, name, result, plain, ordered, vendor, magnitude));
  };
  const T* const no_bias = nullptr;
  auto out = dst;
  run(
      "forward", out, Plain<T>(*library, s.oc, columns, k, false, false), k,
      [&] { kernels::conv_forward(kernel, s, src.data(), weights.data(), no_bias, out.data()); },
      [&] { products.conv_forward(s, src.data(), weights.data(), no_bias, out.data()); });
  out = src;
  run(
      "grad_src", out, Plain<T>(*library, k, columns, s.oc, true, false), s.oc * s.kh * s.kw,
      [&] { kernels::conv_grad_src(kernel, s, dst.data(), weights.data(), out.data()); },
      [&] { products.conv_grad_src(s, dst.data(), weights.data(), out.data()); });
  out = weights;
  run(
      "grad_weights", out, Plain<T>(*library, s.oc, k, columns, false, true), columns,
      [&] { kernels::conv_grad_weights(kernel, s, src.data(), dst.data(), out.data()); },
      [&] { products.conv_grad_weights(s, src.data(), dst.data(), out.data()); });
}

struct Size {
  const char* text;
  int64_t m, n, k, a_column_stride, b_column_stride;  // 1: passed on; 2: packed
};
constexpr Size kSizes[] = {{"gpt2", 1024, 3072, 768, 1, 1},
                           {"gpt2, b packed", 1024, 3072, 768, 1, 2},
                           {"gpt2, a and b packed", 1024, 768, 3072, 2, 2},
                           {"small", 64, 128, 784, 1, 1}};

template <class T>
void measure_matmul(const Setting& setting, const Size& size, std::vector<double>& overheads) {
  const std::string name = text_of("matmul ", size.m, "x", size.n, "x", size.k, " ", size.text);
  if (name.find(setting.only) == std::string::npos) return;
  const auto a = random_values<T>(size.m * size.k * size.a_column_stride, 1),
             b = random_values<T>(size.k * size.n * size.b_column_stride, 2);
  std::vector<T> c(static_cast<size_t>(size.m * size.n));
  kernels::MatmulArgs<T> p;
  p.m = size.m, p.n = size.n, p.k = size.k;
  p.a = a.data(), p.a_row_stride = size.k * size.a_column_stride, p.a_col_stride = size.a_column_stride;
  p.b = b.data(), p.b_row_stride = size.n * size.b_column_stride, p.b_col_stride = size.b_column_stride;
  p.c = c.data(), p.c_row_stride = size.n;
  const kernels::KernelContext kernel{kernels::best_isa(), &pool_of(setting.threads)};
  auto library = open(setting);
  kernels::PlainInnerProducts<T> products(open(setting), kernel);
  Plain<T> plain(*library, size.m, size.n, size.k, false, false);
  overheads.push_back(measure<T>(
      setting, name, c, plain, [&] { kernels::matmul(kernel, p); }, [&] { products.matmul(p); },
      static_cast<double>(size.k)));
}

template <class T>
void measure_all(const Setting& setting) {
  std::vector<double> overheads;
  for (const Size& size : kSizes) measure_matmul<T>(setting, size, overheads);
  for (const Layer& layer : kLayers) measure_layer<T>(setting, layer, overheads);
  if (overheads.empty()) return;
  double logs = 0;
  for (double x : overheads) logs += std::log(x);
  std::printf("float%zu  %s, %d thread(s): geometric mean of %zu overheads %.2f\n", 8 * sizeof(T),
              setting.id.text().c_str(), setting.threads, overheads.size(),
              std::exp(logs / static_cast<double>(overheads.size())));
}

}  // namespace
}  // namespace isobit::bench

int main(int argc, char** argv) {
  isobit::bench::Setting setting;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--library") setting.id.library = value;
    if (key == "--core") setting.id.core = value;
    if (key == "--threads") setting.threads = std::max(1, std::atoi(argv[i + 1]));
    if (key == "--rounds") setting.rounds = std::max(1, std::atoi(argv[i + 1]));
    if (key == "--only") setting.only = value;
  }
  isobit::bench::measure_all<float>(setting);
  if (isobit::bench::open(setting)->has_f64()) isobit::bench::measure_all<double>(setting);
  return 0;
}
