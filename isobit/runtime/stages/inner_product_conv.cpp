// The matrices of a convolution and of its gradients.
#include <algorithm>
#include <cmath>
#include <memory>

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

// Both directions written out: which place of the image tap t meets at output position p, and from which output
// position tap t meets a place of the image; -1 for none.
struct Windows {
  explicit Windows(const ConvShape& s)
      : rows{s.kh, s.ih, s.oh(), s.stride_h, s.pad_top, s.dilation_h},
        columns{s.kw, s.iw, s.ow(), s.stride_w, s.pad_left, s.dilation_w} {}
  int64_t taps() const { return rows.taps * columns.taps; }
  int64_t image() const { return rows.extent * columns.extent; }
  int64_t outputs() const { return rows.outputs * columns.outputs; }

  // [t * outputs() + p]
  std::vector<int32_t> meets() const {
    return table(rows.outputs, columns.outputs, columns.extent,
                 [](const Axis& a, int64_t t, int64_t y) { return a.meets(t, y); });
  }
  // [t * image() + place]
  std::vector<int32_t> met_from() const {
    return table(rows.extent, columns.extent, columns.outputs,
                 [](const Axis& a, int64_t t, int64_t y) { return a.met_from(t, y); });
  }

 private:
  template <class F>
  std::vector<int32_t> table(int64_t height, int64_t width, int64_t row_length, F f) const {
    std::vector<int32_t> places;
    places.reserve(static_cast<size_t>(taps() * height * width));
    for (int64_t t = 0; t < taps(); ++t) {
      for (int64_t y = 0; y < height; ++y) {
        const int64_t row = f(rows, t / columns.taps, y);
        for (int64_t x = 0; x < width; ++x) {
          const int64_t column = f(columns, t % columns.taps, x);
          places.push_back(static_cast<int32_t>(row < 0 || column < 0 ? -1 : row * row_length + column));
        }
      }
    }
    return places;
  }

  Axis rows, columns;
};

using Places = std::shared_ptr<const std::vector<int32_t>>;

// sqrt of the sum of squares over `channels` planes of `area` elements and over the taps, at each of `positions` places
// of each image.
Norms window_norms(const kernels::KernelContext& ctx, const double* data, int64_t images, int64_t image_stride,
                   int64_t channels, int64_t area, int64_t taps, int64_t positions, const Places& places) {
  Norms norms(static_cast<size_t>(images * positions), 0.0);
  const kernels::rounding::Steps& steps = kernels::rounding::steps_of(ctx.isa);
  ctx.pool->parallel_for(images, 1, [&](int64_t begin, int64_t end) {
    Norms squares(static_cast<size_t>(area) + 1);  // the last one stays zero: what a tap meets outside
    for (int64_t n = begin; n < end; ++n) {
      std::fill(squares.begin(), squares.end(), 0.0);
      steps.column_squares(channels, area, data + n * image_stride, area, squares.data());
      double* to = norms.data() + n * positions;
      for (int64_t t = 0; t < taps; ++t) {
        const int32_t* place = places->data() + t * positions;
        for (int64_t p = 0; p < positions; ++p) {
          to[p] += squares[static_cast<size_t>(place[p] < 0 ? area : place[p])];
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
      : s(conv_shape(call)), w(s), icg(s.ic / s.groups), ocg(s.oc / s.groups), ctx(call.ctx) {
    const bool backward = call.node.op == "isobit.ConvGradSrc";
    places = std::make_shared<const std::vector<int32_t>>(backward ? w.met_from() : w.meets());
  }
  ConvShape s;
  Windows w;
  Places places;
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
  b.column_norms = window_norms(q.ctx, x0, q.s.n, q.s.ic * image, q.icg, image, taps, area, q.places);
  b.left = [=, k = b.k](int64_t i, double* to) { std::copy(w0 + i * k, w0 + (i + 1) * k, to); };
  b.right = [=, places = q.places, icg = q.icg, stride = q.s.ic * image](int64_t j, double* to) {
    for (int64_t c = 0; c < icg; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        const int32_t at = (*places)[static_cast<size_t>(t * area + j % area)];
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
  b.column_norms = window_norms(q.ctx, y0, q.s.n, q.s.oc * area, q.ocg, area, taps, image, q.places);
  b.left = [=, icg = q.icg, ocg = q.ocg](int64_t i, double* to) {
    for (int64_t o = 0; o < ocg; ++o) to = std::copy_n(w0 + (o * icg + i) * taps, taps, to);
  };
  b.right = [=, places = q.places, ocg = q.ocg, stride = q.s.oc * area](int64_t j, double* to) {
    for (int64_t o = 0; o < ocg; ++o) {
      for (int64_t t = 0; t < taps; ++t) {
        const int32_t at = (*places)[static_cast<size_t>(t * image + j % image)];
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
          const int32_t at = (*q.places)[static_cast<size_t>(t * area + p)];
          if (at >= 0) sum += squares[static_cast<size_t>(at)];
        }
        b.column_norms[static_cast<size_t>(c * taps + t)] = std::sqrt(sum);
      }
    }
  });
  b.left = [=](int64_t i, double* to) {
    for (int64_t n = 0; n < images; ++n) to = std::copy_n(y0 + n * y_stride + i * area, area, to);
  };
  b.right = [=, places = q.places](int64_t j, double* to) {
    const int32_t* place = places->data() + j % taps * area;
    for (int64_t n = 0; n < images; ++n) {
      const double* plane = x0 + n * x_stride + j / taps * image;
      for (int64_t p = 0; p < area; ++p) {
        *to++ = place[p] < 0 ? 0.0 : plane[place[p]];
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
    ProductBlock& block = blocks.back();
    block.out = call.out().data<double>() + block.offset;
    block.first_operand = call.in(0).span<double>();
    block.second_operand = call.in(1).span<double>();
  }
  return blocks;
}

}  // namespace isobit::runtime
