// float32 convolution and its gradients against oneDNN, and against OpenBLAS doing only the product inside (without
// im2col or col2im, so its figure is a bound no convolution built on it can reach): conv/SHAPE/PASS/LIBRARY/THREADS.
// oneDNN may choose its own layouts; reordering into them is not timed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/vendors.h"
#include "isobit/base/text.h"
#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/dispatch/dispatch.h"

namespace isobit::bench {
namespace {

using kernels::ConvShape;

enum class Pass { kForward, kGradSrc, kGradWeights };
constexpr const char* kPassNames[] = {"forward", "grad_src", "grad_weights"};

struct Layer {
  const char* group;
  int64_t n, ic, image, oc, kernel, stride, pad;

  ConvShape shape() const {
    ConvShape s;
    s.n = n;
    s.ic = ic;
    s.ih = s.iw = image;
    s.oc = oc;
    s.kh = s.kw = kernel;
    s.stride_h = s.stride_w = stride;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
    return s;
  }
};

constexpr Layer kLayers[] = {
    {"resnet", 1, 64, 56, 64, 3, 1, 1},      {"resnet", 1, 512, 7, 512, 3, 1, 1},
    {"resnet", 1, 512, 7, 2048, 1, 1, 0},    {"resnet", 32, 512, 7, 512, 3, 1, 1},
    {"resnet18", 32, 64, 32, 64, 3, 1, 1},   {"resnet18", 32, 64, 32, 128, 3, 2, 1},
    {"resnet18", 32, 256, 8, 256, 3, 1, 1},  {"resnet18", 32, 512, 4, 512, 3, 1, 1},
    {"resnet18", 32, 128, 16, 256, 1, 2, 0}, {"digits", 32, 1, 8, 16, 3, 1, 1},
    {"digits", 32, 16, 8, 32, 3, 1, 1},      {"mnist", 64, 1, 28, 8, 5, 1, 2},
    {"mnist", 64, 8, 14, 16, 5, 1, 2},
};

// One convolution with the buffer that the pass writes; dnnl is set up on first use.
struct Data {
  ConvShape s;
  Pass pass;
  std::vector<float> src, weights, dst;  // gradients in the place of what they belong to
  std::unordered_map<int, dnnl::memory> arguments;
  dnnl::primitive primitive;
  std::unique_ptr<dnnl::stream> stream;
  int result_argument = 0;
  dnnl::memory::desc plain_result;

  Data(const Layer& layer, Pass p)
      : s(layer.shape()),
        pass(p),
        src(random_floats(s.n * s.ic * s.ih * s.iw, 1)),
        weights(random_floats(s.oc * s.ic * s.kh * s.kw, 2)),
        dst(random_floats(s.n * s.oc * s.oh() * s.ow(), 3)) {}

  std::vector<float>& result() { return pass == Pass::kForward ? dst : pass == Pass::kGradSrc ? src : weights; }
};

void run_isobit(int threads, Data& d) {
  const kernels::KernelContext ctx{kernels::best_isa(), &pool_of(threads)};
  const float* no_bias = nullptr;
  if (d.pass == Pass::kForward) {
    kernels::conv_forward(ctx, d.s, d.src.data(), d.weights.data(), no_bias, d.dst.data());
  } else if (d.pass == Pass::kGradSrc) {
    kernels::conv_grad_src(ctx, d.s, d.dst.data(), d.weights.data(), d.src.data());
  } else {
    kernels::conv_grad_weights(ctx, d.s, d.src.data(), d.dst.data(), d.weights.data());
  }
}

// ---- oneDNN

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::memory::desc descriptor(const dnnl::memory::dims& dims, dnnl::memory::format_tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

void set_up_onednn(Data& d) {
  using Tag = dnnl::memory::format_tag;
  const ConvShape& s = d.s;
  const dnnl::memory::dims src{s.n, s.ic, s.ih, s.iw}, weights{s.oc, s.ic, s.kh, s.kw}, dst{s.n, s.oc, s.oh(), s.ow()},
      strides{s.stride_h, s.stride_w}, low{s.pad_top, s.pad_left}, high{s.pad_bottom, s.pad_right};
  const auto any_src = descriptor(src, Tag::any), any_w = descriptor(weights, Tag::any);
  const auto any_dst = descriptor(dst, Tag::any);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, algorithm, any_src, any_w, any_dst,
                                                strides, low, high);
  const dnnl::convolution_forward::primitive_desc hint(forward, engine());
  auto place = [&](int argument, const dnnl::memory::desc& wanted, const dnnl::memory::dims& dims, Tag tag,
                   std::vector<float>& data) {
    dnnl::memory plain(descriptor(dims, tag), engine(), data.data()), own(wanted, engine());
    dnnl::reorder(plain, own).execute(*d.stream, plain, own);
    d.arguments.emplace(argument, own);
  };
  d.stream = std::make_unique<dnnl::stream>(engine());
  if (d.pass == Pass::kForward) {
    place(DNNL_ARG_SRC, hint.src_desc(), src, Tag::nchw, d.src);
    place(DNNL_ARG_WEIGHTS, hint.weights_desc(), weights, Tag::oihw, d.weights);
    place(DNNL_ARG_DST, hint.dst_desc(), dst, Tag::nchw, d.dst);
    d.primitive = dnnl::convolution_forward(hint);
    d.result_argument = DNNL_ARG_DST;
    d.plain_result = descriptor(dst, Tag::nchw);
  } else if (d.pass == Pass::kGradSrc) {
    const dnnl::convolution_backward_data::desc backward(algorithm, any_src, any_w, any_dst, strides, low, high);
    const dnnl::convolution_backward_data::primitive_desc p(backward, engine(), hint);
    place(DNNL_ARG_DIFF_SRC, p.diff_src_desc(), src, Tag::nchw, d.src);
    place(DNNL_ARG_WEIGHTS, p.weights_desc(), weights, Tag::oihw, d.weights);
    place(DNNL_ARG_DIFF_DST, p.diff_dst_desc(), dst, Tag::nchw, d.dst);
    d.primitive = dnnl::convolution_backward_data(p);
    d.result_argument = DNNL_ARG_DIFF_SRC;
    d.plain_result = descriptor(src, Tag::nchw);
  } else {
    const dnnl::convolution_backward_weights::desc backward(algorithm, any_src, any_w, any_dst, strides, low, high);
    const dnnl::convolution_backward_weights::primitive_desc p(backward, engine(), hint);
    place(DNNL_ARG_SRC, p.src_desc(), src, Tag::nchw, d.src);
    place(DNNL_ARG_DIFF_WEIGHTS, p.diff_weights_desc(), weights, Tag::oihw, d.weights);
    place(DNNL_ARG_DIFF_DST, p.diff_dst_desc(), dst, Tag::nchw, d.dst);
    d.primitive = dnnl::convolution_backward_weights(p);
    d.result_argument = DNNL_ARG_DIFF_WEIGHTS;
    d.plain_result = descriptor(weights, Tag::oihw);
  }
  d.stream->wait();
}

void run_onednn(int threads, Data& d) {
  set_openmp_threads(threads);
  if (!d.stream) set_up_onednn(d);
  d.primitive.execute(*d.stream, d.arguments);
  d.stream->wait();
}

void fetch_onednn(Data& d) {
  dnnl::memory plain(d.plain_result, engine(), d.result().data());
  dnnl::memory& own = d.arguments.at(d.result_argument);
  dnnl::reorder(own, plain).execute(*d.stream, own, plain);
  d.stream->wait();
}

// ---- the product alone

void run_openblas(int threads, Data& d) {
  static std::vector<float> a, b, c;
  const ConvShape& s = d.s;
  const int64_t area = s.oh() * s.ow(), inner = s.ic * s.kh * s.kw;
  a.resize(static_cast<size_t>(std::max(s.oc * inner, s.oc * area)));
  b.resize(static_cast<size_t>(inner * area));
  c.resize(static_cast<size_t>(std::max({s.oc * area, inner * area, s.oc * inner})));
  for (int64_t image = 0; image < s.n; ++image) {
    if (d.pass == Pass::kForward) {
      openblas_sgemm(threads, false, false, s.oc, area, inner, a.data(), b.data(), c.data());
    } else if (d.pass == Pass::kGradSrc) {
      openblas_sgemm(threads, true, false, inner, area, s.oc, a.data(), b.data(), c.data());
    } else {
      openblas_sgemm(threads, false, true, s.oc, inner, area, a.data(), b.data(), c.data());
    }
  }
}

// ---- the check

// Calls f(src index, weight index, dst index) for the products of output `at` of the pass.
template <class F>
void for_each_product(const ConvShape& s, Pass pass, int64_t at, F f) {
  const int64_t oh = s.oh(), ow = s.ow(), taps = s.kh * s.kw;
  auto visit = [&](int64_t n, int64_t oc, int64_t v, int64_t h, int64_t ic, int64_t tap) {
    const int64_t y = v * s.stride_h - s.pad_top + tap / s.kw, x = h * s.stride_w - s.pad_left + tap % s.kw;
    if (v < 0 || v >= oh || h < 0 || h >= ow || y < 0 || y >= s.ih || x < 0 || x >= s.iw) return;
    f(static_cast<size_t>(((n * s.ic + ic) * s.ih + y) * s.iw + x), static_cast<size_t>((oc * s.ic + ic) * taps + tap),
      static_cast<size_t>(((n * s.oc + oc) * oh + v) * ow + h));
  };
  if (pass == Pass::kForward) {
    const int64_t h = at % ow, v = at / ow % oh, oc = at / ow / oh % s.oc, n = at / ow / oh / s.oc;
    for (int64_t i = 0; i < s.ic * taps; ++i) visit(n, oc, v, h, i / taps, i % taps);
  } else if (pass == Pass::kGradWeights) {
    const int64_t tap = at % taps, ic = at / taps % s.ic, oc = at / taps / s.ic;
    for (int64_t i = 0; i < s.n * oh * ow; ++i) visit(i / ow / oh, oc, i / ow % oh, i % ow, ic, tap);
  } else {
    const int64_t x = at % s.iw, y = at / s.iw % s.ih, ic = at / s.iw / s.ih % s.ic, n = at / s.iw / s.ih / s.ic;
    for (int64_t i = 0; i < s.oc * taps; ++i) {
      const int64_t v = y + s.pad_top - i % taps / s.kw, h = x + s.pad_left - i % taps % s.kw;
      if (v % s.stride_h || h % s.stride_w) continue;
      visit(n, i / taps, v / s.stride_h, h / s.stride_w, ic, i % taps);
    }
  }
}

// A sample of the outputs against sums in binary64.
void check(const std::string& name, Data& d) {
  const auto size = static_cast<int64_t>(d.result().size());
  for (int64_t sample = 0; sample < 50; ++sample) {
    const int64_t at = sample * 104729 % size;
    double sum = 0, magnitude = 0;
    for_each_product(d.s, d.pass, at, [&](size_t src, size_t weight, size_t dst) {
      double product = d.pass == Pass::kGradSrc ? 1.0 : static_cast<double>(d.src[src]);
      if (d.pass != Pass::kGradWeights) product *= static_cast<double>(d.weights[weight]);
      if (d.pass != Pass::kForward) product *= static_cast<double>(d.dst[dst]);
      sum += product;
      magnitude += std::fabs(product);
    });
    require_near(name, sum, static_cast<double>(d.result()[static_cast<size_t>(at)]), 1e-5 * magnitude);
  }
}

using Run = void (*)(int threads, Data& data);

void measure(benchmark::State& state, const std::string& name, const Layer& layer, Pass pass, int threads, Run run) {
  Data data(layer, pass);
  run(threads, data);
  if (run == run_onednn) fetch_onednn(data);
  if (run != run_openblas) check(name, data);
  for (auto _ : state) run(threads, data);
  const ConvShape& s = data.s;
  const double flops =
      2.0 * static_cast<double>(s.n * s.oc * s.oh() * s.ow()) * static_cast<double>(s.ic * s.kh * s.kw);
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

void add(const Layer& l, Pass pass, const char* library, int threads, Run run) {
  const std::string name =
      text_of("conv/", l.group, "/n", l.n, " ", l.ic, ">", l.oc, " ", l.image, "x", l.image, " k", l.kernel, " s",
              l.stride, " ", kPassNames[static_cast<int>(pass)], "/", library, "/", threads);
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { measure(state, name, l, pass, threads, run); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

void register_benchmarks() {
  for (int threads : {1, 2}) {
    for (const Layer& layer : kLayers) {
      for (Pass pass : {Pass::kForward, Pass::kGradSrc, Pass::kGradWeights}) {
        add(layer, pass, "isobit", threads, run_isobit);
        if (openblas_available()) add(layer, pass, "openblas", threads, run_openblas);
        add(layer, pass, "onednn", threads, run_onednn);
      }
    }
  }
}

}  // namespace isobit::bench
