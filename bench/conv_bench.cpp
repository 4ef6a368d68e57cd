// float32 convolution and its gradients against oneDNN, which takes part with the layout of images that it chooses,
// with nchw and with nhwc, and against OpenBLAS and MKL doing only the product inside (without im2col or col2im, so
// their figure is a bound no convolution built on them can reach).
#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/alternate.h"
#include "isobit/base/text.h"
#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/dispatch/dispatch.h"

namespace isobit::bench {
namespace {

using kernels::ConvShape;

struct Layer {
  int64_t n, ic, image, oc, kernel, stride;
  bool operator==(const Layer&) const = default;

  ConvShape shape() const {
    ConvShape s;
    s.n = n;
    s.ic = ic;
    s.ih = s.iw = image;
    s.oc = oc;
    s.kh = s.kw = kernel;
    s.stride_h = s.stride_w = stride;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = kernel / 2;
    return s;
  }
};

struct Network {
  std::string group;
  std::vector<Layer> layers;  // each once; of the first nobody computes the gradient of its input

  void add(const Layer& layer) {
    if (std::find(layers.begin(), layers.end(), layer) == layers.end()) layers.push_back(layer);
  }
};

// He et al. 2016, section 4.1, as isobit/models has them.
Network resnet(const std::string& group, int64_t n, int64_t image, std::vector<int64_t> blocks, bool bottleneck) {
  const bool small = image < 64;
  Network net{group, {{n, 3, image, 64, small ? 3 : 7, small ? 1 : 2}}};
  if (!small) image /= 4;
  int64_t in = 64;
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    const int64_t channels = int64_t{64} << stage, out = bottleneck ? 4 * channels : channels;
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      if (bottleneck) {
        net.add({n, in, image, channels, 1, 1});
        net.add({n, channels, image, channels, 3, stride});
        net.add({n, channels, image / stride, out, 1, 1});
      } else {
        net.add({n, in, image, channels, 3, stride});
        net.add({n, channels, image / stride, channels, 3, 1});
      }
      if (stride != 1 || in != out) net.add({n, in, image, out, 1, stride});
      image /= stride;
      in = out;
    }
  }
  return net;
}

Network vgg11(const std::string& group, int64_t n, int64_t image) {
  Network net{group, {}};
  int64_t in = 3;
  for (const int64_t channels : {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512}) {
    if (channels == 0) {
      image /= 2;
      continue;
    }
    net.add({n, in, image, channels, 3, 1});
    in = channels;
  }
  return net;
}

std::vector<Network> networks() {
  return {resnet("resnet18 B=128 32x32", 128, 32, {2, 2, 2, 2}, false),
          resnet("resnet18 B=8 224x224", 8, 224, {2, 2, 2, 2}, false),
          resnet("resnet50 B=64 32x32", 64, 32, {3, 4, 6, 3}, true),
          resnet("resnet50 B=8 224x224", 8, 224, {3, 4, 6, 3}, true),
          vgg11("vgg11 B=16 224x224", 16, 224),
          {"digits B=32", {{32, 1, 8, 16, 3, 1}, {32, 16, 8, 32, 3, 1}}},
          {"mnist B=64", {{64, 1, 28, 16, 3, 1}, {64, 16, 14, 32, 3, 1}}}};
}

// One convolution with the tensor that the pass writes; gradients are in the place of what they belong to.
struct Data {
  ConvShape s;
  Pass pass;
  Operand src, weights, dst;

  Data(const Layer& layer, Pass p)
      : s(layer.shape()),
        pass(p),
        src(s.n * s.ic * s.ih * s.iw, 1),
        weights(s.oc * s.ic * s.kh * s.kw, 2),
        dst(s.n * s.oc * s.oh() * s.ow(), 3) {}

  const Operand& result() const { return pass == Pass::kForward ? dst : pass == Pass::kGradSrc ? src : weights; }
};

void run_isobit(int threads, const Data& d) {
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

// The products inside, one an image, on operands of their own.
Prepared product_alone(const Rival& rival, const ConvShape& s, Pass pass) {
  const int64_t area = s.oh() * s.ow(), inner = s.ic * s.kh * s.kw;
  Product p;
  if (pass == Pass::kForward) {
    p = {s.oc, area, inner, false, false};
  } else if (pass == Pass::kGradSrc) {
    p = {inner, area, s.oc, true, false};
  } else {
    p = {s.oc, inner, area, false, true};
  }
  const auto a = std::make_shared<Operand>(p.m * p.k, 4), b = std::make_shared<Operand>(p.k * p.n, 5),
             c = std::make_shared<Operand>(p.m * p.n, 6);
  p.a = a->data(), p.b = b->data(), p.c = c->data();
  return {[=, sgemm = rival.sgemm, images = s.n] {
            (void)a, (void)b, (void)c;
            for (int64_t image = 0; image < images; ++image) sgemm(p);
          },
          {}};
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

// A sample of the outputs against sums in binary64; what is checked is spoilt, so that it is not taken for the next
// one's.
void check(const std::string& name, const Data& d) {
  for (int64_t sample = 0; sample < 50; ++sample) {
    const int64_t at = sample * 104729 % d.result().size();
    double sum = 0, magnitude = 0;
    for_each_product(d.s, d.pass, at, [&](size_t src, size_t weight, size_t dst) {
      double product = d.pass == Pass::kGradSrc ? 1.0 : static_cast<double>(d.src.data()[src]);
      if (d.pass != Pass::kGradWeights) product *= static_cast<double>(d.weights.data()[weight]);
      if (d.pass != Pass::kForward) product *= static_cast<double>(d.dst.data()[dst]);
      sum += product;
      magnitude += std::fabs(product);
    });
    require_near(name, sum, static_cast<double>(d.result().data()[at]), 1e-5 * magnitude);
  }
  std::fill_n(d.result().data(), d.result().size(), NAN);
}

std::vector<Contestant> prepare(const std::string& name, const Layer& layer, Pass pass, const Setting& setting) {
  const auto data = std::make_shared<Data>(layer, pass);
  std::vector<Contestant> all;
  const auto add = [&](const std::string& who, const Prepared& prepared) {
    all.push_back({who, prepared, [=] { check(text_of(name, " of ", who), *data); }});
  };
  if (setting.wanted("isobit")) add("isobit", {[=, n = setting.threads] { run_isobit(n, *data); }, {}});
  for (const Rival& rival : setting.blas) all.push_back({rival.name, product_alone(rival, data->s, pass), {}});
  if (setting.wanted("onednn")) {
    using onednn::Images;
    for (const auto& [way, images] :
         {std::pair("any", Images::kChosen), {"nchw", Images::kNchw}, {"nhwc", Images::kNhwc}}) {
      const Data& d = *data;
      const Prepared prepared = onednn::convolution(d.s, pass, d.src.data(), d.weights.data(), d.dst.data(), images);
      if (prepared.run) add(text_of("onednn:", way), prepared);
    }
  }
  return all;
}

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Network& network : networks()) {
    for (const Layer& l : network.layers) {
      const ConvShape s = l.shape();
      const double flops =
          2.0 * static_cast<double>(s.n * s.oc * s.oh() * s.ow()) * static_cast<double>(s.ic * s.kh * s.kw);
      for (const Pass pass : {Pass::kForward, Pass::kGradSrc, Pass::kGradWeights}) {
        if (pass == Pass::kGradSrc && l == network.layers.front()) continue;
        const std::string name = text_of("conv/", network.group, "/", l.ic, ">", l.oc, " ", l.image, "x", l.image, " k",
                                         l.kernel, " s", l.stride, " ", kPassNames[static_cast<int>(pass)]);
        all.push_back({name, flops, [=](const Setting& setting) { return prepare(name, l, pass, setting); }});
      }
    }
  }
  return all;
}

}  // namespace isobit::bench
