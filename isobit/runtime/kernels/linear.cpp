#include "isobit/runtime/kernels/linear.h"

#include <memory>

#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/graph/ops/windows.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/matmul/kept_panels.h"
#include "isobit/kernels/matmul/summed.h"
#include "isobit/kernels/product/ending.h"

namespace isobit::runtime {

namespace {

using graph::ProductForm;
using kernels::product::Direction;

// A convolution along one axis is one of a single row.
kernels::ConvShape conv_shape(const graph::Node& node, const Shape& src, const Shape& weights,
                              const graph::ops::Windows& windows) {
  const bool one_row = windows.size() == 1;
  const graph::ops::AxisWindow down = one_row ? graph::ops::AxisWindow{} : windows[0], across = windows.back();
  kernels::ConvShape s;
  s.n = src[0];
  s.ic = src[1];
  s.ih = one_row ? 1 : src[2];
  s.iw = src[-1];
  s.oc = weights[0];
  s.kh = down.size;
  s.kw = across.size;
  s.stride_h = down.stride;
  s.stride_w = across.stride;
  s.pad_top = down.pad_begin;
  s.pad_left = across.pad_begin;
  s.pad_bottom = down.pad_end;
  s.pad_right = across.pad_end;
  s.dilation_h = down.dilation;
  s.dilation_w = across.dilation;
  s.groups = node.attributes.integer("group", 1);
  return s;
}

kernels::ConvShape conv_shape(const graph::Node& node, const Shape& src, const Shape& weights) {
  using graph::ops::image_of;
  return conv_shape(node, src, weights,
                    *graph::ops::read_windows(node.attributes, image_of(src.dims()), image_of(weights.dims())));
}

// Of the convolution whose gradient with respect to its source is computed: that source is `image`.
kernels::ConvShape transposed_shape(const graph::Node& node, const Shape& src, const Shape& weights,
                                    const Shape& image) {
  using graph::ops::image_of;
  const auto transposed =
      *graph::ops::read_transposed_windows(node.attributes, image_of(src.dims()), image_of(weights.dims()));
  return conv_shape(node, image, weights, transposed.windows);
}

kernels::product::MatmulShape matmul_shape(const graph::Node& node, const Shape& a, const Shape& b, const Shape& out) {
  const bool ta = node.attributes.integer("transA", 0) != 0, tb = node.attributes.integer("transB", 0) != 0;
  kernels::product::MatmulShape s;
  s.m = out[-2];
  s.n = out[-1];
  s.k = a[ta ? -2 : -1];
  s.a_row_stride = ta ? 1 : a[-1];
  s.a_col_stride = ta ? a[-1] : 1;
  s.b_row_stride = tb ? 1 : b[-1];
  s.b_col_stride = tb ? b[-1] : 1;
  s.c_row_stride = s.n;
  return s;
}

}  // namespace

NodeProduct product_of_node(const graph::Node& node, const Shape& first, const Shape& second, const Shape& out) {
  NodeProduct p;
  switch (graph::op_of(node).product) {
    case ProductForm::kMatmul:
    case ProductForm::kGemm:
      p.is_matmul = true;
      p.matmul = matmul_shape(node, first, second, out);
      return p;
    case ProductForm::kConv:
      p.conv = conv_shape(node, first, second);
      return p;
    case ProductForm::kConvGradSrc:
      p.direction = Direction::kGradSrc;
      p.conv = conv_shape(node, out, second);
      return p;
    case ProductForm::kConvTranspose:
      p.direction = Direction::kGradSrc;
      p.conv = transposed_shape(node, first, second, out);
      return p;
    case ProductForm::kConvGradWeights:
      p.direction = Direction::kGradWeights;
      p.conv = conv_shape(node, first, out);
      return p;
    case ProductForm::kNone:
      break;
  }
  ISOBIT_CHECK(false);
  return p;
}

namespace {

namespace k = kernels;

// Inner products are the arithmetic's and the platform's where the context brings some.
template <class T>
Status product(const k::KernelContext& ctx, const k::MatmulArgs<T>& args) {
  if (ctx.products<T>() != nullptr) return ctx.products<T>()->matmul(args);
  k::matmul(ctx, args);
  return {};
}

// Of operand 1, if it is the same in every run.
std::shared_ptr<k::KeptPanels> kept_for(const KernelSite& site) {
  if (site.graph.initializer(site.node.inputs[1]) == nullptr) return nullptr;
  return std::make_shared<k::KeptPanels>();
}

template <class T>
Status matmul(KernelCall& c, const k::product::MatmulShape& one, const k::BroadcastPlan& matrices,
              k::KeptPanels* kept) {
  Status status;
  const bool same_b = c.in(1).elements() == one.k * one.n;  // in all products of the call
  for_each_product<T>(c, one, matrices, [&](k::MatmulArgs<T> part) {
    if (same_b) part.kept_b = kept;
    if (status) status = product(c.ctx, part);
  });
  return status;
}

// Calls f(float{}) or f(double{}) by the type of input 0; an error names the node.
template <class F>
Status inner_products(const KernelCall& c, F&& f) {
  Status status = c.f64() ? f(double{}) : f(float{});
  if (status) return status;
  return tl::unexpected<Error>(
      {status.error().code, text_of("operator ", c.node.op, " '", c.node.name, "': ", status.error().message)});
}

template <class T>
const T* bias_of(const KernelCall& c) {
  return c.has(2) ? c.in(2).data<T>() : nullptr;
}

template <class T>
Status convolve(KernelCall& c, const NodeProduct& p, k::KeptPanels* kept) {
  const T *first = c.in(0).data<T>(), *second = c.in(1).data<T>();
  T* out = c.out().data<T>();
  k::InnerProducts<T>* products = c.ctx.products<T>();
  switch (p.direction) {
    case Direction::kForward: {
      const T* bias = bias_of<T>(c);
      if (products != nullptr) return products->conv_forward(p.conv, first, second, bias, out);
      k::conv_forward(c.ctx, p.conv, first, second, bias, out, kept);
      break;
    }
    case Direction::kGradSrc:
      if (products != nullptr) return products->conv_grad_src(p.conv, first, second, out);
      k::conv_grad_src(c.ctx, p.conv, first, second, out);
      break;
    case Direction::kGradWeights:
      if (products != nullptr) return products->conv_grad_weights(p.conv, first, second, out);
      k::conv_grad_weights(c.ctx, p.conv, first, second, out);
      break;
  }
  return {};
}

NodeProduct product_at(const KernelSite& site) {
  return product_of_node(site.node, site.in(0).shape(), site.in(1).shape(), site.out().shape());
}

RunKernel matmuls(const KernelSite& site) {
  return [one = product_at(site).matmul, matrices = matrices_of(site.in(0).shape(), site.in(1).shape()),
          kept = kept_for(site)](KernelCall& c) {
    return inner_products(c, [&]<class T>(T) { return matmul<T>(c, one, matrices, kept.get()); });
  };
}

// Whether both operands are stacks as high as the product, and `next` is the sum over that stack alone.
bool sums_a_stack(const KernelSite& site, const KernelSite& next) {
  using Dims = std::vector<int64_t>;
  if (next.node.op != "isobit.SumTo" || site.in(0).dtype != DType::kFloat32) return false;
  const Dims &a = site.in(0).dims, &b = site.in(1).dims, &stack = site.out().dims, &sum = next.out().dims;
  if (stack.size() != 3 || a.size() != 3 || b.size() != 3 || a[0] != stack[0] || b[0] != stack[0]) return false;
  for (const graph::Value* v : {&site.in(0), &site.in(1), &site.out(), &next.out()}) {
    if (!v->is_static()) return false;
  }
  return sum == Dims{stack[1], stack[2]} || sum == Dims{1, stack[1], stack[2]};
}

RunChain summed_matmuls(std::span<const KernelSite> sites) {
  const KernelSite& site = sites[0];
  if (sites.size() != 2 || !sums_a_stack(site, sites[1])) return {};
  k::MatmulArgs<float> args = matrix_sizes<float>(product_at(site).matmul);
  args.batch = site.out().dims[0];
  args.a_batch_stride = args.m * args.k;
  args.b_batch_stride = args.k * args.n;
  if (!k::worth_summing(args)) return {};
  return [args](std::span<KernelCall* const> calls) -> Status {
    k::MatmulArgs<float> here = args;
    here.a = calls[0]->in(0).data<float>();
    here.b = calls[0]->in(1).data<float>();
    k::sum_of_products(calls[0]->ctx, here, calls[1]->out().data<float>());
    return {};
  };
}

RunKernel gemm(const KernelSite& site) {
  return [s = product_at(site).matmul, kept = kept_for(site)](KernelCall& c) {
    return inner_products(c, [&]<class T>(T) {
      k::MatmulArgs<T> args = gemm_args<T>(c, s);
      args.kept_b = kept.get();
      return product(c.ctx, args);
    });
  };
}

RunKernel conv(const KernelSite& site) {
  return [p = product_at(site), kept = kept_for(site)](KernelCall& c) {
    return inner_products(c, [&]<class T>(T) { return convolve<T>(c, p, kept.get()); });
  };
}

// The input of an addition that is added to what the node before makes; -1: none of the same shape, or both are that.
int addend_of(const KernelSite& site, const KernelSite& before) {
  const graph::Value& made = before.out();
  if (site.node.op != "Add" || site.node.inputs.size() != 2 || !made.is_static()) return -1;
  const int i = site.node.inputs[0] == before.node.outputs[0] ? 1 : 0;
  const bool same = site.in(i).is_static() && site.in(i).dims == made.dims && site.out().dims == made.dims;
  return same && site.node.inputs[static_cast<size_t>(i)] != before.node.outputs[0] ? i : -1;
}

// A convolution, what is added to it, and Relu; or one of the two. Panels of its weights are its own: a run that
// computes the nodes apart has others.
RunChain ended_conv(std::span<const KernelSite> sites) {
  for (const graph::Value* v : {&sites[0].in(0), &sites[0].in(1), &sites[0].out()}) {
    if (!v->is_static()) return {};
  }
  const int addend = addend_of(sites[1], sites[0]);
  const bool relu = sites.back().node.op == "Relu";
  if (sites.size() != size_t{1} + (addend >= 0) + relu) return {};
  return [addend, relu, p = product_at(sites[0]), kept = kept_for(sites[0])](std::span<KernelCall* const> calls) {
    const KernelCall& conv = *calls[0];
    return by_float_type(conv, 0, [&]<class T>(T) {
      const k::Ending<T> ending{addend >= 0 ? calls[1]->in(addend).template data<T>() : nullptr, relu};
      k::conv_forward(conv.ctx, p.conv, conv.in(0).data<T>(), conv.in(1).data<T>(), bias_of<T>(conv),
                      calls.back()->out().template data<T>(), kept.get(), &ending);
    });
  };
}

}  // namespace

void add_linear_kernels(KernelTable& table) {
  table["MatMul"] = with_parameters(matmuls);
  table["MatMul"].bind_chain = summed_matmuls;
  table["Gemm"] = with_parameters(gemm);
  table["Conv"] = with_parameters(conv);
  table["Conv"].bind_chain = ended_conv;
  table["isobit.ConvGradSrc"] = with_parameters(conv);
  table["isobit.ConvGradWeights"] = with_parameters(conv);
  table["ConvTranspose"] = with_parameters(conv);
}

}  // namespace isobit::runtime
