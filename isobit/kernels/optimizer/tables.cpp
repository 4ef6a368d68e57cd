// The family in plain loops that the compiler vectorises; compiled once for every instruction set.
#include "isobit/kernels/elementwise/loop.h"
#include "isobit/kernels/optimizer/table.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::optimizer {
namespace {

namespace impl = numerics::impl;
using elementwise::tidy;

ISOBIT_INLINE float root_of(float x) { return impl::cr_sqrt(x); }
ISOBIT_INLINE double root_of(double x) { return impl::f64_sqrt(x); }

template <bool kDecay, bool kVelocity, bool kNesterov, class T>
void sgd_loop(const SgdFactors<T> f, int64_t begin, int64_t end, const SgdTensors<T> t) {
  const T *params = t.params, *grads = t.grads, *momentum = t.momentum;
  T *params_out = t.params_out, *momentum_out = t.momentum_out;
  ISOBIT_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) {
    const T p = params[i];
    T g = f.grad_scale * grads[i];
    if constexpr (kDecay) g = g + f.weight_decay * p;
    if constexpr (kVelocity) {
      const T v = f.momentum * momentum[i] + g;
      momentum_out[i] = tidy(v);
      g = kNesterov ? g + f.momentum * v : v;
    }
    params_out[i] = tidy(p - f.lr * g);
  }
}

template <bool kDecay, class T>
void sgd_kind(const SgdFactors<T>& f, int64_t begin, int64_t end, const SgdTensors<T>& t) {
  if (!f.velocity) return sgd_loop<kDecay, false, false>(f, begin, end, t);
  if (!f.nesterov) return sgd_loop<kDecay, true, false>(f, begin, end, t);
  return sgd_loop<kDecay, true, true>(f, begin, end, t);
}

template <class T>
void sgd(const SgdFactors<T>& f, int64_t begin, int64_t end, const SgdTensors<T>& t) {
  f.decay ? sgd_kind<true>(f, begin, end, t) : sgd_kind<false>(f, begin, end, t);
}

enum class Decay { kNone, kGradient, kDecoupled };

template <Decay kDecay, class T>
void adam_loop(const AdamFactors<T> f, int64_t begin, int64_t end, const AdamTensors<T> t) {
  const T *params = t.params, *grads = t.grads, *m_in = t.m, *v_in = t.v;
  T *params_out = t.params_out, *m_out = t.m_out, *v_out = t.v_out;
  ISOBIT_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) {
    T p = params[i];
    T g = f.grad_scale * grads[i];
    if constexpr (kDecay == Decay::kDecoupled) p = f.keep * p;
    if constexpr (kDecay == Decay::kGradient) g = g + f.weight_decay * p;
    const T m = f.beta1 * m_in[i] + f.nb1 * g;
    const T v = f.beta2 * v_in[i] + f.nb2 * (g * g);
    const T d = root_of(v) / f.root + f.eps;
    m_out[i] = tidy(m);
    v_out[i] = tidy(v);
    params_out[i] = tidy(p - f.step * (m / d));
  }
}

template <class T>
void adam(const AdamFactors<T>& f, int64_t begin, int64_t end, const AdamTensors<T>& t) {
  if (!f.decay) return adam_loop<Decay::kNone>(f, begin, end, t);
  if (f.decoupled) return adam_loop<Decay::kDecoupled>(f, begin, end, t);
  return adam_loop<Decay::kGradient>(f, begin, end, t);
}

template <class T>
constexpr Table<T> kTable{sgd<T>, adam<T>};

}  // namespace

ISOBIT_FOR_FLOATS(ISOBIT_DEFINE_TABLE, ISOBIT_ISA)

}  // namespace isobit::kernels::optimizer
