#include "isobit/kernels/elementwise/binary.h"
#include "isobit/kernels/quantized/integer_products.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/kernels/windows.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

// Which input is which; -1: the operator has none.
struct Inputs {
  int a, b;
  int a_zero, b_zero;
  int a_scale = -1, b_scale = -1, scale = -1, zero = -1, bias = -1;
};
constexpr Inputs kPlain = {.a = 0, .b = 1, .a_zero = 2, .b_zero = 3};
constexpr Inputs kScaled = {
    .a = 0, .b = 3, .a_zero = 2, .b_zero = 5, .a_scale = 1, .b_scale = 4, .scale = 6, .zero = 7, .bias = 8};

// An operand's numbers: as many of its own as there are lines in a matrix, in all matrices, or one. None: `fallback`.
template <class T, class Number>
k::PerLine<T> per_line(const Tensor* numbers, int64_t lines, Number number, ScratchVector<T>& kept) {
  if (numbers == nullptr) {
    kept.assign(1, T(0));
    return {.values = kept.data()};
  }
  kept.resize(static_cast<size_t>(numbers->elements()));
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = number(*numbers, static_cast<int64_t>(i));
  const bool one = numbers->elements() == 1, each_matrix = numbers->shape().rank() > 1;
  return {.values = kept.data(), .matrix_step = each_matrix && !one ? lines : 0, .line_step = one ? 0 : 1};
}

int32_t byte_of(const Tensor& t, int64_t i) {
  return t.dtype() == DType::kInt8 ? int32_t{t.data<int8_t>()[i]} : int32_t{t.data<uint8_t>()[i]};
}

const Tensor* input_or_null(const KernelCall& c, int i) { return i >= 0 && c.has(i) ? &c.in(i) : nullptr; }

// An operand with its zero points.
struct Bytes {
  Bytes(const KernelCall& c, int operand, int zero_input, int64_t lines) {
    bytes.data = c.in(operand).raw();
    bytes.is_signed = c.in(operand).dtype() == DType::kInt8;
    bytes.zero = per_line<int32_t>(input_or_null(c, zero_input), lines, byte_of, zeros);
  }
  ScratchVector<int32_t> zeros;
  k::ByteOperand bytes;
};

template <class T>
struct Rescaled {
  Rescaled(KernelCall& c, const Inputs& in, int left_scale, int64_t left_lines, int right_scale, int64_t right_lines) {
    const auto number = [](const Tensor& t, int64_t i) { return t.data<T>()[i]; };
    out.left = per_line<T>(&c.in(left_scale), left_lines, number, left);
    out.right = per_line<T>(&c.in(right_scale), right_lines, number, right);
    out.scale = *c.in(in.scale).data<T>();
    out.zero = byte_of(c.in(in.zero), 0);
    out.is_signed = c.out().dtype() == DType::kInt8;
    out.dst = c.out().raw();
  }
  ScratchVector<T> left, right;
  k::Requantised<T> out;
};

Shape leading(const std::vector<int64_t>& dims) { return Shape(std::vector<int64_t>(dims.begin(), dims.end() - 2)); }

// The numbers of the matrices of both operands that each matrix of the result is made of.
struct Matrices {
  std::vector<int64_t> a, b;

  Matrices(const std::vector<int64_t>& a_dims, const std::vector<int64_t>& b_dims) {
    const k::BroadcastPlan plan = k::plan_broadcast(leading(a_dims), leading(b_dims));
    std::vector<int64_t> index(plan.dims.size(), 0);
    for (int64_t i = 0; i < plan.elements; ++i) {
      int64_t from_a = 0, from_b = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        from_a += index[d] * plan.step(d, 0);
        from_b += index[d] * plan.step(d, 1);
      }
      a.push_back(from_a);
      b.push_back(from_b);
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < plan.dims[d]) break;
        index[d] = 0;
      }
    }
  }
};

template <bool kRescales>
RunKernel matmul(const KernelSite& site) {
  constexpr Inputs in = kRescales ? kScaled : kPlain;
  const std::vector<int64_t>&a = site.in(in.a).dims, &b = site.in(in.b).dims;
  const int64_t m = a[a.size() - 2], depth = a.back(), n = b.back();
  return [=, matrices = Matrices(a, b)](KernelCall& c) -> Status {
    const k::IntegerMatmulShape shape{.m = m, .n = n, .k = depth, .a_matrices = matrices.a, .b_matrices = matrices.b};
    const Bytes left(c, in.a, in.a_zero, m), right(c, in.b, in.b_zero, n);
    if constexpr (kRescales) {
      return by_float_type(c, in.a_scale, [&]<class T>(T) {
        const Rescaled<T> rescaled(c, in, in.a_scale, m, in.b_scale, n);
        k::quantized_matmul(c.ctx, shape, left.bytes, right.bytes, rescaled.out);
      });
    } else {
      k::integer_matmul(c.ctx, shape, left.bytes, right.bytes, c.out().data<int32_t>());
      return {};
    }
  };
}

// The left side of a convolution is its weights.
template <bool kRescales>
RunKernel conv(const KernelSite& site) {
  constexpr Inputs in = kRescales ? kScaled : kPlain;
  const std::vector<int64_t>&src = site.in(in.a).dims, &weights = site.in(in.b).dims;
  const std::span<const int64_t> image = graph::ops::image_of(src);
  const auto axes =
      sliding_axes(*graph::ops::read_windows(site.attributes(), image, graph::ops::image_of(weights)), image);
  const int64_t images = src[0], groups = site.attributes().integer("group", 1), channels = weights[1],
                filters = weights[0];
  return [=](KernelCall& c) -> Status {
    const k::IntegerConvShape shape{
        .n = images, .groups = groups, .channels = channels, .filters = filters / groups, .axes = axes};
    const Bytes x(c, in.a, in.a_zero, 1), w(c, in.b, in.b_zero, filters);
    const Tensor* bias = input_or_null(c, in.bias);
    const int32_t* added = bias == nullptr ? nullptr : bias->data<int32_t>();
    if constexpr (kRescales) {
      return by_float_type(c, in.a_scale, [&]<class T>(T) {
        const Rescaled<T> rescaled(c, in, in.b_scale, filters, in.a_scale, 1);
        k::quantized_conv(c.ctx, shape, x.bytes, w.bytes, added, rescaled.out);
      });
    } else {
      k::integer_conv(c.ctx, shape, x.bytes, w.bytes, added, c.out().data<int32_t>());
      return {};
    }
  };
}

}  // namespace

void add_quantized_product_kernels(KernelTable& table) {
  table["MatMulInteger"] = with_parameters(matmul<false>);
  table["ConvInteger"] = with_parameters(conv<false>);
  table["QLinearMatMul"] = with_parameters(matmul<true>);
  table["QLinearConv"] = with_parameters(conv<true>);
}

}  // namespace isobit::runtime
