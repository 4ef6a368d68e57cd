#include <optional>

#include "isobit/kernels/activation/activation.h"
#include "isobit/kernels/dropout/dropout.h"
#include "isobit/kernels/elementwise/binary.h"
#include "isobit/kernels/elementwise/unary.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

// Operands of one shape need no plan.
using Broadcast = std::optional<k::BroadcastPlan>;

template <class T>
void run_binary(KernelCall& c, k::BinaryOp op, const Broadcast& plan) {
  const Tensor &a = c.in(0), &b = c.in(1);
  if (!plan) {
    k::binary(c.ctx, op, a.elements(), a.data<T>(), b.data<T>(), c.out().data<T>());
  } else {
    k::binary(c.ctx, op, *plan, a.data<T>(), b.data<T>(), c.out().data<T>());
  }
}

Status run_binary(KernelCall& c, k::BinaryOp op, const Broadcast& plan) {
  switch (c.in(0).dtype()) {
    case DType::kFloat32:
      run_binary<float>(c, op, plan);
      break;
    case DType::kFloat64:
      run_binary<double>(c, op, plan);
      break;
    case DType::kInt64:
      run_binary<int64_t>(c, op, plan);
      break;
    case DType::kInt32:
      run_binary<int32_t>(c, op, plan);
      break;
    default:
      return unreadable("arithmetic on this type is not supported");
  }
  return {};
}

Kernel binary(k::BinaryOp op) {
  const auto bind = [op](const KernelSite& site) -> RunKernel {
    Broadcast plan;
    if (site.in(0).dims != site.in(1).dims) plan = k::plan_broadcast(site.in(0).shape(), site.in(1).shape());
    return [op, plan](KernelCall& c) { return run_binary(c, op, plan); };
  };
  return with_parameters(bind, {{0, 0}});
}

// f(ctx, n, src, dst) for float and double.
template <class F>
Kernel map_one(F f) {
  return {[f](KernelCall& c) -> Status {
            return by_float_type(c, 0,
                                 [&]<class T>(T) { f(c, c.in(0).elements(), c.in(0).data<T>(), c.out().data<T>()); });
          },
          {{0, 0}}};
}

// f(call, n, forward value, diff_dst, diff_src)
template <class F>
Kernel map_grad(F f) {
  return {[f](KernelCall& c) -> Status {
            return by_float_type(c, 0, [&]<class T>(T) {
              f(c, c.in(0).elements(), c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
            });
          },
          {{0, 1}}};
}

Kernel unary(k::UnaryOp op) {
  return map_one([op](KernelCall& c, int64_t n, const auto* src, auto* dst) { k::unary(c.ctx, op, n, src, dst); });
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
  table["Sub"] = binary(k::BinaryOp::kSub);
  table["Mul"] = binary(k::BinaryOp::kMul);
  table["Div"] = binary(k::BinaryOp::kDiv);
  table["Neg"] = unary(k::UnaryOp::kNeg);
  table["Abs"] = unary(k::UnaryOp::kAbs);
  table["Sqrt"] = unary(k::UnaryOp::kSqrt);
  table["Exp"] = unary(k::UnaryOp::kExp);
  table["Log"] = unary(k::UnaryOp::kLog);
  table["Erf"] = unary(k::UnaryOp::kErf);
  table["Reciprocal"] = unary(k::UnaryOp::kReciprocal);
  table["Sin"] = unary(k::UnaryOp::kSin);
  table["Cos"] = unary(k::UnaryOp::kCos);
  table["Identity"] = {.run = {}, .is_view = true};
  table["Cast"] = {cast};

  table["Relu"] = map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::relu(c.ctx, n, s, d); });
  table["Sigmoid"] = map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::sigmoid(c.ctx, n, s, d); });
  table["Tanh"] = map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::tanh(c.ctx, n, s, d); });
  table["Gelu"] = with_parameters(gelu, {{0, 0}});
  table["LeakyRelu"] = with_parameters(leaky_relu, {{0, 0}});
  table["isobit.LeakyReluGrad"] = with_parameters(leaky_relu_grad, {{0, 1}});
  table["isobit.ReluGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::relu_grad(c.ctx, n, y, dy, dx); });
  table["isobit.SigmoidGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::sigmoid_grad(c.ctx, n, y, dy, dx); });
  table["isobit.TanhGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::tanh_grad(c.ctx, n, y, dy, dx); });
  table["isobit.GeluGrad"] = with_parameters(gelu_grad, {{0, 1}});
  table["isobit.Dropout"] = with_parameters(dropout, {{0, 0}});
}

}  // namespace isobit::runtime
