#include "isobit/kernels/activation/activation.h"
#include "isobit/kernels/dropout/dropout.h"
#include "isobit/kernels/elementwise/binary.h"
#include "isobit/kernels/elementwise/unary.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

template <class T>
void run_binary(KernelCall& c, k::BinaryOp op) {
  const Tensor &a = c.in(0), &b = c.in(1);
  if (a.shape() == b.shape()) {
    k::binary(c.ctx, op, a.elements(), a.data<T>(), b.data<T>(), c.out().data<T>());
  } else {
    k::binary(c.ctx, op, k::plan_broadcast(a.shape(), b.shape()), a.data<T>(), b.data<T>(), c.out().data<T>());
  }
}

Kernel binary(k::BinaryOp op) {
  auto run = [op](KernelCall& c) -> Status {
    switch (c.in(0).dtype()) {
      case DType::kFloat32:
        run_binary<float>(c, op);
        break;
      case DType::kFloat64:
        run_binary<double>(c, op);
        break;
      case DType::kInt64:
        run_binary<int64_t>(c, op);
        break;
      case DType::kInt32:
        run_binary<int32_t>(c, op);
        break;
      default:
        return unreadable("arithmetic on this type is not supported");
    }
    return {};
  };
  return {run, {{0, 0}}};
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

k::GeluForm gelu_form(const KernelCall& c) {
  return c.attributes().text("approximate", "none") == "tanh" ? k::GeluForm::kTanh : k::GeluForm::kErf;
}

template <class T>
T alpha_of(const KernelCall& c) {
  return static_cast<T>(c.attributes().real("alpha", 0.01));
}

Status dropout(KernelCall& c) {
  const Tensor& step = c.in(1);
  const int64_t t = step.dtype() == DType::kInt64 ? step.data<int64_t>()[0] : step.data<int32_t>()[0];
  k::DropoutArgs args;
  args.seed = static_cast<uint64_t>(c.attributes().integer("seed", 0));
  args.step = static_cast<decltype(args.step)>(t);
  args.node = static_cast<uint32_t>(c.attributes().integer("node", 0));
  args.p = c.attributes().real("ratio", 0.5);
  return by_float_type(
      c, 0, [&]<class T>(T) { k::dropout(c.ctx, args, c.in(0).elements(), c.in(0).data<T>(), c.out().data<T>()); });
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
  table["Identity"] = {nullptr, {}, true};
  table["Cast"] = {cast};

  table["Relu"] = map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::relu(c.ctx, n, s, d); });
  table["Sigmoid"] = map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::sigmoid(c.ctx, n, s, d); });
  table["Tanh"] = map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::tanh(c.ctx, n, s, d); });
  table["Gelu"] =
      map_one([](KernelCall& c, int64_t n, const auto* s, auto* d) { k::gelu(c.ctx, gelu_form(c), n, s, d); });
  table["LeakyRelu"] = map_one(
      []<class T>(KernelCall& c, int64_t n, const T* s, T* d) { k::leaky_relu(c.ctx, n, alpha_of<T>(c), s, d); });
  table["isobit.LeakyReluGrad"] = map_grad([]<class T>(KernelCall& c, int64_t n, const T* x, const T* dy, T* dx) {
    k::leaky_relu_grad(c.ctx, n, alpha_of<T>(c), x, dy, dx);
  });
  table["isobit.ReluGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::relu_grad(c.ctx, n, y, dy, dx); });
  table["isobit.SigmoidGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::sigmoid_grad(c.ctx, n, y, dy, dx); });
  table["isobit.TanhGrad"] = map_grad(
      [](KernelCall& c, int64_t n, const auto* y, const auto* dy, auto* dx) { k::tanh_grad(c.ctx, n, y, dy, dx); });
  table["isobit.GeluGrad"] = map_grad([](KernelCall& c, int64_t n, const auto* x, const auto* dy, auto* dx) {
    k::gelu_grad(c.ctx, gelu_form(c), n, x, dy, dx);
  });
  table["isobit.Dropout"] = {dropout, {{0, 0}}};
}

}  // namespace isobit::runtime
