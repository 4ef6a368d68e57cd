// The executable specification: the sequences of optimizer.h, one element at a time.
#include "isobit/kernels/optimizer/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels::optimizer {
namespace {

using numerics::canonical;

float root_of(float x) { return numerics::cr_sqrt(x); }
double root_of(double x) { return numerics::f64_sqrt(x); }

template <class T>
void sgd(const SgdFactors<T>& f, int64_t begin, int64_t end, const SgdTensors<T>& tensors) {
  for (int64_t i = begin; i < end; ++i) {
    const T p = tensors.params[i];
    T g = f.grad_scale * tensors.grads[i];
    if (f.decay) {
      const T t = f.weight_decay * p;
      g = g + t;
    }
    if (f.velocity) {
      T t = f.momentum * tensors.momentum[i];
      const T v = t + g;
      tensors.momentum_out[i] = canonical(v);
      if (f.nesterov) {
        t = f.momentum * v;
        g = g + t;
      } else {
        g = v;
      }
    }
    const T t = f.lr * g;
    tensors.params_out[i] = canonical(p - t);
  }
}

template <class T>
void adam(const AdamFactors<T>& f, int64_t begin, int64_t end, const AdamTensors<T>& tensors) {
  for (int64_t i = begin; i < end; ++i) {
    T p = tensors.params[i];
    T g = f.grad_scale * tensors.grads[i];
    if (f.decay && f.decoupled) {
      p = f.keep * p;
    } else if (f.decay) {
      const T t = f.weight_decay * p;
      g = g + t;
    }
    T t = f.beta1 * tensors.m[i];
    T s = f.nb1 * g;
    const T m = t + s;
    t = f.beta2 * tensors.v[i];
    const T q = g * g;
    s = f.nb2 * q;
    const T v = t + s;
    T r = root_of(v);
    r = r / f.root;
    const T d = r + f.eps;
    T u = m / d;
    u = f.step * u;
    tensors.m_out[i] = canonical(m);
    tensors.v_out[i] = canonical(v);
    tensors.params_out[i] = canonical(p - u);
  }
}

template <class T>
constexpr Table<T> kTable{sgd<T>, adam<T>};

}  // namespace

ISOBIT_FOR_FLOATS(ISOBIT_DEFINE_TABLE, kReference)

}  // namespace isobit::kernels::optimizer
