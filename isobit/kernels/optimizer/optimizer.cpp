#include "isobit/kernels/optimizer/optimizer.h"

#include "isobit/base/status.h"
#include "isobit/kernels/elements.h"
#include "isobit/kernels/optimizer/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {
namespace {

constexpr int64_t kUpdateGrain = 8192;

template <class T>
T clip(T global_norm, T max_norm) {
  const T s = global_norm + T(1e-6);
  const T c = max_norm / s;
  return c < 1 ? c : numerics::is_nan(c) ? numerics::canonical(c) : T(1);
}

}  // namespace

float clip_factor(float global_norm, float max_norm) { return clip(global_norm, max_norm); }
double clip_factor(double global_norm, double max_norm) { return clip(global_norm, max_norm); }

double beta_power(double beta, int64_t t) {
  double power = 1;
  for (int64_t i = 0; i < t; ++i) power = power * beta;
  return power;
}

template <class T>
void sgd(const KernelContext& ctx, const SgdArgs& args, int64_t n, const SgdTensors<T>& tensors) {
  const optimizer::SgdFactors<T> f{.lr = static_cast<T>(args.lr),
                                   .momentum = static_cast<T>(args.momentum),
                                   .weight_decay = static_cast<T>(args.weight_decay),
                                   .grad_scale = static_cast<T>(args.grad_scale),
                                   .decay = args.weight_decay != 0,
                                   .velocity = args.momentum != 0,
                                   .nesterov = args.nesterov};
  const auto loop = optimizer::table_of<T>(ctx.isa).sgd;
  for_elements(ctx, n, kUpdateGrain, [&](int64_t begin, int64_t end) { loop(f, begin, end, tensors); });
}

template <class T>
void adam(const KernelContext& ctx, const AdamArgs& args, int64_t n, const AdamTensors<T>& tensors) {
  ISOBIT_CHECK(args.beta1_power < 1 && args.beta2_power < 1);
  const double step = args.lr / (1 - args.beta1_power);
  const double root = numerics::f64_sqrt(1 - args.beta2_power);
  const double decay = args.lr * args.weight_decay;
  const optimizer::AdamFactors<T> f{.beta1 = static_cast<T>(args.beta1),
                                    .beta2 = static_cast<T>(args.beta2),
                                    .nb1 = static_cast<T>(1 - args.beta1),
                                    .nb2 = static_cast<T>(1 - args.beta2),
                                    .step = static_cast<T>(step),
                                    .root = static_cast<T>(root),
                                    .eps = static_cast<T>(args.eps),
                                    .weight_decay = static_cast<T>(args.weight_decay),
                                    .keep = static_cast<T>(1 - decay),
                                    .grad_scale = static_cast<T>(args.grad_scale),
                                    .decay = args.weight_decay != 0,
                                    .decoupled = args.decoupled};
  const auto loop = optimizer::table_of<T>(ctx.isa).adam;
  for_elements(ctx, n, kUpdateGrain, [&](int64_t begin, int64_t end) { loop(f, begin, end, tensors); });
}

#define ISOBIT_INSTANTIATE(T)                                                                \
  template void sgd<T>(const KernelContext&, const SgdArgs&, int64_t, const SgdTensors<T>&); \
  template void adam<T>(const KernelContext&, const AdamArgs&, int64_t, const AdamTensors<T>&);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
