// The matrices of a convolution and of its gradients.
#include <algorithm>
#include <cmath>

#include "isobit/kernels/rounding/steps.h"
#include "isobit/runtime/kernels/linear.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {
namespace {

using kernels::ConvShape;
using Norms = std::vector<double>;

// One direction of the windows: which row of the image tap t meets at output position y; -1 for none.
struct Axis {
  int64_t taps, extent, outputs, stride, pad, dilation;
  int64_t meets(int64_t t, int64_t y) const {
    const int64_t at = y * stride - pad + t * dilation;
    return at >= 0 && at < extent ? at : -1;
  }
  // The output position at which tap t meets row `at`; -1 for none.
  int64_t met_from(int64_t t, int64_t at) const {
    const int64_t y = at + pad - t * dilation;
    return y >= 0 && y % stride == 0 && y / stride < outputs ? y / stride : -1;
  }
};

struct Windows {
  explicit Windows(const ConvShape& s)
      : rows{s.kh, s.ih, s.oh(), s.stride_h, s.pad_top, s.dilation_h},
        columns{s.kw, s.iw, s.ow(), s.stride_w, s.pad_left, s.dilation_w} {}
  Axis rows, columns;
  int64_t taps() const { return rows.taps * columns.taps; }
  int64_t image() const { return rows.extent * columns.extent; }
  int64_t outputs() const { return rows.outputs * columns.outputs; }
  // Place in the image that tap t meets at output position p, and the other way round; -1 for none.
  int64_t meets(int64_t t, int64_t p) const {
    const int64_t y = rows.meets(t / columns.taps, p / columns.outputs);
    const int64_t x = columns.meets(t % columns.taps, p % columns.outputs);
    return y < 0 || x < 0 ? -1 : y * columns.extent + x;
  }
  int64_t met_from(int64_t t, int64_t at) const {
    const int64_t y = rows.met_from(t / columns.taps, at / columns.extent);
    const int64_t x = columns.met_from(t % columns.taps, at % columns.extent);
    return y < 0 || x < 0 ? -1 : y * columns.outputs + x;
  }
};

// sqrt of the sum of squares over `channels` planes of `area` elements and over the taps, at each of `positions` places
// of each image: meets(t, p) is the place in a plane.
template <class Meets>
Norms window_norms(const kernels::KernelContext& ctx, const double* data, int64_t images, int64_t image_stride,
                   int64_t channels, int64_t area, int64_t taps, int64_t positions, const Meets& meets) {
  std::vector<int32_t> places(static_cast<size_t>(taps * positions));
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t p = 0; p < positions; ++p)
      places[static_cast<size_t>(t * positions + p)] = static_cast<int32_t>(meets(t, p));
  }
  Norms norms(static_cast<size_t>(images * positions), 0.0);
  const kernels::rounding::Steps& steps = kernels::rounding::steps_of(ctx.isa);
  ctx.pool->parallel_for(images, 1, [&](int64_t begin, int64_t end) {
    Norms squares(static_cast<size_t>(area));
    for (int64_t n = begin; n < end; ++n) {
      squares.assign(squares.size(), 0.0);
      steps.column_squares(channels, area, data + n * image_stride, area, squares.data());
      double* to = norms.data() + n * positions;
      for (int64_t t = 0; t < taps; ++t) {
        const int32_t* place = places.data() + t * positions;
        for (int64_t p = 0; p < positions; ++p) {
          if (place[p] >= 0) to[p] += squares[static_cast<size_t>(place[p])];
        }
      }
      for (int64_t p = 0; p < positions; ++p) to[p] = std::sqrt(to[p]);
    }
  });
  return norms;
}

// Lines of `count` groups of `run` contiguous elements each.
Norms grouped_norms(const kernels::KernelContext& ctx, const double* data, int64_t lines, int64_t line_stride,
                    int64_t count, int64_t stride, int64_t run) {
  const kernels::rounding::Steps& steps = kernels::rounding::steps_of(ctx.isa);
  Norms norms(static_cast<size_t>(lines));
  ctx.pool->parallel_for(lines, 16384 / (count * run + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double sum = 0;
      for (int64_t g = 0; g < count; ++g) sum += steps.squares(run, data + i * line_stride + g * stride);
      norms[static_cast<size_t>(i)] = std::sqrt(sum);
    }
  });
  return norms;
}

struct Geometry {
  explicit Geometry(const KernelCall& call)
      : s(conv_shape(call)), w(s), icg(s.ic / s.groups), ocg(s.oc / s.groups), ctx(call.ctx) {}
  ConvShape s;
  Windows w;
  int64_t icg, ocg;
  const kernels::KernelContext& ctx;
};

// Weights [oc, taps of ic] times windows of src.
ProductBlock forward(const Geometry& q, int64_t g, const double* src, const double* weights, const double* bias) {
  const int64_t taps = q.w.taps(), area = q.w.outputs(), image = q.w.image();
  ProductBlock b;
  b.m = q.ocg;
  b.n = q.s.n * area;
  b.k = q.icg * taps;
  b.offset = g * q.ocg * area;
  b.row_stride = b.columns = area;
  b.column_stride = q.s.oc * area;
  b.row_bias = bias != nullptr ? bias + g * q.ocg : nullptr;
  const double* w0 = weights + g * q.ocg * b.k;
  const double* x0 = src + g * q.icg * image;
  b.row_norms = grouped_norms(q.ctx, w0, b.m, b.k, 1, 0, b.k);
  b.column_norms = window_norms(q.ctx, x0, q.s.n, q.s.ic * image, q.icg, image, taps, area,
                                [&](int64_t t, int64_t p) { return q.w.meets(t, p); });
  b.left = [=, k = b.k](int64_t i, double* to) { std::copy(w0 + i * k, w0 + (i + 1) * k, to); };
  b.right = [=, w = q.w, icg = q.icg, stride = q.s.ic * image](int64_t j, double* to) {
    for (int64_t c = 0; c < icg; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t at = w.meets(t, j % area);
        *to++ = at < 0 ? 0.0 : x0[j / area * stride + c * image + at];
      }
    }
  };
  return b;
}

// Weights [ic, taps of oc] times the elements of diff_dst that each place of src went into.
ProductBlock grad_src(const Geometry& q, int64_t g, const double* diff_dst, const double* weights) {
  const int64_t taps = q.w.taps(), area = q.w.outputs(), image = q.w.image();
  ProductBlock b;
  b.m = q.icg;
  b.n = q.s.n * image;
  b.k = q.ocg * taps;
  b.offset = g * q.icg * image;
  b.row_stride = b.columns = image;
  b.column_stride = q.s.ic * image;
  const double* w0 = weights + g * q.ocg * q.icg * taps;
  const double* y0 = diff_dst + g * q.ocg * area;
  b.row_norms = grouped_norms(q.ctx, w0, b.m, taps, q.ocg, q.icg * taps, taps);
  b.column_norms = window_norms(q.ctx, y0, q.s.n, q.s.oc * area, q.ocg, area, taps, image,
                                [&](int64_t t, int64_t at) { return q.w.met_from(t, at); });
  b.left = [=, icg = q.icg, ocg = q.ocg](int64_t i, double* to) {
    for (int64_t o = 0; o < ocg; ++o) to = std::copy_n(w0 + (o * icg + i) * taps, taps, to);
  };
  b.right = [=, w = q.w, ocg = q.ocg, stride = q.s.oc * area](int64_t j, double* to) {
    for (int64_t o = 0; o < ocg; ++o) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t at = w.met_from(t, j % image);
        *to++ = at < 0 ? 0.0 : y0[j / image * stride + o * area + at];
      }
    }
  };
  return b;
}

// diff_dst [oc, positions] times windows of src [positions, taps of ic].
ProductBlock grad_weights(const Geometry& q, int64_t g, const double* src, const double* diff_dst) {
  const int64_t taps = q.w.taps(), area = q.w.outputs(), image = q.w.image();
  ProductBlock b;
  b.m = q.ocg;
  b.n = q.icg * taps;
  b.k = q.s.n * area;
  b.offset = g * q.ocg * b.n;
  b.row_stride = b.columns = b.n;
  const double* y0 = diff_dst + g * q.ocg * area;
  const double* x0 = src + g * q.icg * image;
  const int64_t y_stride = q.s.oc * area, x_stride = q.s.ic * image, images = q.s.n;
  b.row_norms = grouped_norms(q.ctx, y0, b.m, area, images, y_stride, area);
  // Squares of a channel added up over the images, then over the places that a tap meets.
  b.column_norms.assign(static_cast<size_t>(b.n), 0.0);
  const kernels::rounding::Steps& steps = kernels::rounding::steps_of(q.ctx.isa);
  q.ctx.pool->parallel_for(q.icg, 1, [&](int64_t begin, int64_t end) {
    Norms squares(static_cast<size_t>(image));
    for (int64_t c = begin; c < end; ++c) {
      squares.assign(squares.size(), 0.0);
      steps.column_squares(images, image, x0 + c * image, x_stride, squares.data());
      for (int64_t t = 0; t < taps; ++t) {
        double sum = 0;
        for (int64_t p = 0; p < area; ++p) {
          const int64_t at = q.w.meets(t, p);
          if (at >= 0) sum += squares[static_cast<size_t>(at)];
        }
        b.column_norms[static_cast<size_t>(c * taps + t)] = std::sqrt(sum);
      }
    }
  });
  b.left = [=](int64_t i, double* to) {
    for (int64_t n = 0; n < images; ++n) to = std::copy_n(y0 + n * y_stride + i * area, area, to);
  };
  b.right = [=, w = q.w](int64_t j, double* to) {
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t p = 0; p < area; ++p) {
        const int64_t at = w.meets(j % taps, p);
        *to++ = at < 0 ? 0.0 : x0[n * x_stride + j / taps * image + at];
      }
    }
  };
  return b;
}

}  // namespace

std::vector<ProductBlock> convolution_blocks(KernelCall& call) {
  const Geometry geometry(call);
  const double *first = call.in(0).data<double>(), *second = call.in(1).data<double>();
  std::vector<ProductBlock> blocks;
  for (int64_t g = 0; g < geometry.s.groups; ++g) {
    if (call.node.op == "Conv") {
      blocks.push_back(forward(geometry, g, first, second, call.has(2) ? call.in(2).data<double>() : nullptr));
    } else if (call.node.op == "isobit.ConvGradSrc") {
      blocks.push_back(grad_src(geometry, g, first, second));
    } else {
      blocks.push_back(grad_weights(geometry, g, first, second));
    }
    blocks.back().out = call.out().data<double>() + blocks.back().offset;
  }
  return blocks;
}

}  // namespace isobit::runtime
