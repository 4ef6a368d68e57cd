#include <optional>
#include <utility>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/kernels/activation/activation.h"
#include "isobit/kernels/dropout/dropout.h"
#include "isobit/kernels/elementwise/binary.h"
#include "isobit/kernels/elementwise/functions.h"
#include "isobit/kernels/elementwise/numbers.h"
#include "isobit/kernels/elementwise/power.h"
#include "isobit/kernels/elementwise/unary.h"
#include "isobit/runtime/kernels/formulas.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

// Operands of one shape need no plan.
using Broadcast = std::optional<k::BroadcastPlan>;

template <class T>
void run_binary(KernelCall& c, k::BinaryOp op, const Broadcast& plan, const T* a, const T* b) {
  if (!plan) {
    k::binary(c.ctx, op, c.out().elements(), a, b, c.out().data<T>());
  } else {
    k::binary(c.ctx, op, *plan, a, b, c.out().data<T>());
  }
}

Broadcast broadcast_unless_equal(const Shape& a, const Shape& b) {
  return a == b ? Broadcast() : Broadcast(k::plan_broadcast(a, b));
}

Kernel binary(k::BinaryOp op) {
  const auto bind = [op](const KernelSite& site) -> RunKernel {
    return [op, plan = broadcast_unless_equal(site.in(0).shape(), site.in(1).shape())](KernelCall& c) -> Status {
      by_type(NumberTypes{}, c.in(0).dtype(),
              [&]<class T>(T) { run_binary(c, op, plan, c.in(0).data<T>(), c.in(1).data<T>()); });
      return {};
    };
  };
  return finishing(with_parameters(bind, {{0, 0}}));
}

// x0 op x1 op x2 ..., from the left; `mean`: divided by their number.
RunKernel fold_inputs(const KernelSite& site, k::BinaryOp op, bool mean) {
  const auto n = static_cast<int>(site.node.inputs.size());
  const Shape dst = site.out().shape(), first = site.in(0).shape();
  // What the first two do not fill the first is spread over before anything meets it.
  const bool spread = n == 1 || k::broadcast_shape(first, site.in(1).shape()) != dst;
  const k::BroadcastPlan over_dst = k::plan_broadcast_to(dst, {&first, 1});
  std::vector<Broadcast> plans;  // of what has come together and input i + 1
  for (int i = 1; i < n; ++i) {
    plans.push_back(broadcast_unless_equal(i == 1 && !spread ? first : dst, site.in(i).shape()));
  }
  const Broadcast by_count = k::plan_broadcast(dst, Shape{});
  return [=](KernelCall& c) -> Status {
    by_type(NumberTypes{}, c.in(0).dtype(), [&]<class T>(T) {
      if (spread) k::zip(c.ctx, k::Itself(), over_dst, c.out().data<T>(), c.in(0).data<T>());
      for (int i = 1; i < n; ++i) {
        const T* so_far = i == 1 && !spread ? c.in(0).data<T>() : c.out().data<T>();
        run_binary(c, op, plans[static_cast<size_t>(i - 1)], so_far, c.in(i).data<T>());
      }
      const T count = static_cast<T>(n);
      if (mean && n > 1) run_binary(c, k::BinaryOp::kDiv, by_count, std::as_const(c.out()).data<T>(), &count);
    });
    return {};
  };
}

Kernel folded(k::BinaryOp op, bool mean = false) {
  return with_parameters([op, mean](const KernelSite& site) { return fold_inputs(site, op, mean); }, {{0, 0}});
}

// min(max, max(x, min))
RunKernel clip(const KernelSite& site) {
  return [plan = Broadcast(k::plan_broadcast(site.in(0).shape(), Shape{}))](KernelCall& c) -> Status {
    by_type(NumberTypes{}, c.in(0).dtype(), [&]<class T>(T) {
      const T* x = c.in(0).data<T>();
      T* dst = c.out().data<T>();
      if (c.has(1)) run_binary(c, k::BinaryOp::kMax, plan, std::exchange(x, dst), c.in(1).data<T>());
      if (c.has(2)) run_binary(c, k::BinaryOp::kMin, plan, std::exchange(x, dst), c.in(2).data<T>());
      if (!c.has(1) && !c.has(2)) k::map(c.ctx, k::Itself(), c.in(0).elements(), x, dst);
    });
    return {};
  };
}

// Whether each element of float32 is to become its cube, as in GELU by tanh.
bool is_cube(const KernelCall& c) {
  if (c.in(0).dtype() != DType::kFloat32 || c.in(1).elements() != 1 || c.in(0).shape() != c.outputs[0].shape()) {
    return false;
  }
  bool is_three = false;
  by_type(NumberTypes{}, c.in(1).dtype(), [&]<class E>(E) { is_three = *c.in(1).data<E>() == E(3); });
  return is_three;
}

// The power has the type of the base; exponents may have any.
RunKernel power(const KernelSite& site) {
  return [plan = broadcast_of_inputs(site)](KernelCall& c) -> Status {
    if (is_cube(c)) {
      k::cube(c.ctx, c.in(0).elements(), c.in(0).data<float>(), c.out().data<float>());
      return {};
    }
    by_type(Types<float, double, int32_t, int64_t>{}, c.in(0).dtype(), [&]<class T>(T) {
      by_type(NumberTypes{}, c.in(1).dtype(), [&]<class E>(E) {
        k::zip(c.ctx, k::Power(), plan, c.out().data<T>(), c.in(0).data<T>(), c.in(1).data<E>());
      });
    });
    return {};
  };
}

k::Remainder remainder(const KernelSite& site) {
  return {.sign_of_dividend = site.attributes().integer("fmod", 0) == 1};
}

// f(ctx, n, src, dst) for float and double.
template <class F>
Kernel map_one(F f) {
  return finishing({[f](KernelCall& c) -> Status {
                      return by_float_type(
                          c, 0, [&]<class T>(T) { f(c, c.in(0).elements(), c.in(0).data<T>(), c.out().data<T>()); });
                    },
                    {{0, 0}}});
}

// f(call, n, forward value, diff_dst, diff_src)
template <class F>
Kernel map_grad(F f) {
  return finishing({[f](KernelCall& c) -> Status {
                      return by_float_type(c, 0, [&]<class T>(T) {
                        f(c, c.in(0).elements(), c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
                      });
                    },
                    {{0, 1}}});
}

Kernel unary(k::UnaryOp op) {
  return map_one([op](KernelCall& c, int64_t n, const auto* src, auto* dst) { k::unary(c.ctx, op, n, src, dst); });
}

// Floats by one kernel, integers by another.
Kernel by_kind(const Kernel& floats, const Kernel& integers) {
  const auto bind = [floats, integers](const KernelSite& site) {
    return bound(FloatTypes::contains(site.in(0).dtype) ? floats : integers, site);
  };
  return with_parameters(bind, {{0, 0}});
}

k::GeluForm gelu_form(const KernelSite& site) {
  return site.attributes().text("approximate", "none") == "tanh" ? k::GeluForm::kTanh : k::GeluForm::kErf;
}

RunKernel leaky_relu(const KernelSite& site) {
  return [alpha = site.attributes().real("alpha", 0.01)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::leaky_relu(c.ctx, c.in(0).elements(), static_cast<T>(alpha), c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel leaky_relu_grad(const KernelSite& site) {
  return [alpha = site.attributes().real("alpha", 0.01)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::leaky_relu_grad(c.ctx, c.in(0).elements(), static_cast<T>(alpha), c.in(0).data<T>(), c.in(1).data<T>(),
                         c.out().data<T>());
    });
  };
}

RunKernel gelu(const KernelSite& site) {
  return [form = gelu_form(site)](KernelCall& c) {
    return by_float_type(
        c, 0, [&]<class T>(T) { k::gelu(c.ctx, form, c.in(0).elements(), c.in(0).data<T>(), c.out().data<T>()); });
  };
}

RunKernel gelu_grad(const KernelSite& site) {
  return [form = gelu_form(site)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::gelu_grad(c.ctx, form, c.in(0).elements(), c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel dropout(const KernelSite& site) {
  k::DropoutArgs fixed;
  fixed.seed = static_cast<uint64_t>(site.attributes().integer("seed", 0));
  fixed.node = static_cast<uint32_t>(site.attributes().integer("node", 0));
  fixed.p = site.attributes().real("ratio", 0.5);
  fixed.first = site.attributes().integer(graph::kFirstDraw, 0);
  return [fixed](KernelCall& c) {
    const Tensor& step = c.in(1);
    const int64_t t = step.dtype() == DType::kInt64 ? step.data<int64_t>()[0] : step.data<int32_t>()[0];
    k::DropoutArgs args = fixed;
    args.step = static_cast<decltype(args.step)>(t);
    return by_float_type(
        c, 0, [&]<class T>(T) { k::dropout(c.ctx, args, c.in(0).elements(), c.in(0).data<T>(), c.out().data<T>()); });
  };
}

Status cast(KernelCall& c) {
  k::cast(c.ctx, c.in(0).dtype(), c.out().dtype(), c.in(0).elements(), c.in(0).raw(), c.out().raw());
  return {};
}

}  // namespace

void add_elementwise_kernels(KernelTable& table) {
  table["Add"] = binary(k::BinaryOp::kAdd);
  table["Add"].in_place.insert({0, 1});
  table["Sub"] = binary(k::BinaryOp::kSub);
  table["Mul"] = binary(k::BinaryOp::kMul);
  table["Div"] = binary(k::BinaryOp::kDiv);
  table["Mod"] = zip_made<NumberTypes>(remainder);
  table["Pow"] = finishing(with_parameters(power, {{0, 0}}));
  table["Max"] = folded(k::BinaryOp::kMax);
  table["Min"] = folded(k::BinaryOp::kMin);
  table["Sum"] = folded(k::BinaryOp::kAdd);
  table["Mean"] = folded(k::BinaryOp::kAdd, true);
  table["Clip"] = with_parameters(clip, {{0, 0}});
  table["Neg"] = by_kind(unary(k::UnaryOp::kNeg), map_formula<SignedTypes>(k::NegatedInteger()));
  table["Abs"] = by_kind(unary(k::UnaryOp::kAbs), map_formula<IntegerTypes>(k::MagnitudeOfInteger()));
  table["Sign"] = map_formula<NumberTypes>(k::Sign());
  table["Sqrt"] = unary(k::UnaryOp::kSqrt);
  table["Exp"] = unary(k::UnaryOp::kExp);
  table["Log"] = unary(k::UnaryOp::kLog);
  table["Erf"] = unary(k::UnaryOp::kErf);
  table["Reciprocal"] = unary(k::UnaryOp::kReciprocal);
  table["Sin"] = unary(k::UnaryOp::kSin);
  table["Cos"] = unary(k::UnaryOp::kCos);
  table["Tan"] = map_formula<FloatTypes>(k::Tangent());
  table["Asin"] = map_formula<FloatTypes>(k::ArcSine());
  table["Acos"] = map_formula<FloatTypes>(k::ArcCosine());
  table["Atan"] = map_formula<FloatTypes>(k::ArcTangent());
  table["Sinh"] = map_formula<FloatTypes>(k::HyperbolicSine());
  table["Cosh"] = map_formula<FloatTypes>(k::HyperbolicCosine());
  table["Asinh"] = map_formula<FloatTypes>(k::AreaSine());
  table["Acosh"] = map_formula<FloatTypes>(k::AreaCosine());
  table["Atanh"] = map_formula<FloatTypes>(k::AreaTangent());
  table["Floor"] = map_formula<FloatTypes>(k::Floor());
  table["Ceil"] = map_formula<FloatTypes>(k::Ceil());
  table["Round"] = map_formula<FloatTypes>(k::Round());
  table["Identity"] = {.run = {}, .is_view = true};
  table["Cast"] = {cast};

  table["Relu"] = by_kind(map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::relu(c.ctx, n, s, d); }),
                          map_formula<SignedTypes>(k::PositivePartOfInteger()));
  table["Sigmoid"] = map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::sigmoid(c.ctx, n, s, d); });
  table["Tanh"] = map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::tanh(c.ctx, n, s, d); });
  table["Gelu"] = finishing(with_parameters(gelu, {{0, 0}}));
  table["LeakyRelu"] = finishing(with_parameters(leaky_relu, {{0, 0}}));
  table["isobit.LeakyReluGrad"] = finishing(with_parameters(leaky_relu_grad, {{0, 1}}));
  table["isobit.ReluGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::relu_grad(c.ctx, n, y, dy, dx); });
  table["isobit.SigmoidGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::sigmoid_grad(c.ctx, n, y, dy, dx); });
  table["isobit.TanhGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::tanh_grad(c.ctx, n, y, dy, dx); });
  table["isobit.GeluGrad"] = finishing(with_parameters(gelu_grad, {{0, 1}}));
  table["isobit.Dropout"] = finishing(with_parameters(dropout, {{0, 0}}));
}

}  // namespace isobit::runtime
