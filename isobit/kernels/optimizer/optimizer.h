// Parameter updates: one written sequence of operations per element, elements independent of each other.
//
// Determinism class `ordered-1`. Every line of a sequence is one operation of T (float or double) rounded to nearest
// even, no fma. Numbers that do not depend on the element are given in binary64 and rounded to T once, as written.
// NaN results are canonical. Each output array may be the input array of the same meaning (in place); no other overlap.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// max_norm / (global_norm + 1e-6), at most 1, in T: s = global_norm + T(1e-6); c = max_norm / s; c < 1 ? c : 1.
// NaN gives the canonical NaN. Pass the result as grad_scale. (PyTorch's clip_grad_norm_.)
float clip_factor(float global_norm, float max_norm);
double clip_factor(double global_norm, double max_norm);

// beta^t by t multiplications of binary64: 1, 1 * beta, (1 * beta) * beta, ... REQUIRES t >= 0.
double beta_power(double beta, int64_t t);

// PyTorch's SGD with dampening 0.
struct SgdArgs {
  double lr = 0;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  double grad_scale = 1;  // see clip_factor
};

template <class T>
struct SgdTensors {
  const T* params;
  const T* grads;
  const T* momentum;  // starts at +0; null when args.momentum is 0
  T* params_out;
  T* momentum_out;  // null when args.momentum is 0
};

// lr, mu, wd, gs: the arguments rounded to T.
//   g  = gs * grads
//   if weight_decay != 0:  t = wd * p;   g = g + t
//   if momentum != 0:      t = mu * v;   v' = t + g;   g = nesterov ? (t = mu * v';  g + t) : v'
//   t = lr * g;   p' = p - t
template <class T>
void sgd(const KernelContext& ctx, const SgdArgs& args, int64_t n, const SgdTensors<T>& tensors);

struct AdamArgs {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  // true: AdamW
  double beta1_power = 0;  // beta_power(beta1, t) with t = 1 at the first step, carried in the state or recomputed
  double beta2_power = 0;
  double grad_scale = 1;  // see clip_factor
};

template <class T>
struct AdamTensors {
  const T* params;
  const T* grads;
  const T* m;  // first moment, starts at +0
  const T* v;  // second moment, starts at +0
  T* params_out;
  T* m_out;
  T* v_out;
};

// Source: Kingma, Ba, "Adam", 2015; Loshchilov, Hutter, "Decoupled Weight Decay Regularization", 2019.
// In binary64, each operation rounded, then rounded once to T (beta1, beta2, eps, wd, gs: the arguments rounded to T):
//   nb1 = 1 - beta1;   nb2 = 1 - beta2;   step = lr / (1 - beta1_power);   root = sqrt(1 - beta2_power)
//   keep = 1 - lr * weight_decay
// Per element, in T:
//   g = gs * grads
//   if weight_decay != 0:  decoupled: p = keep * p;  else  t = wd * p;  g = g + t
//   t = beta1 * m;   s = nb1 * g;   m' = t + s
//   t = beta2 * v;   q = g * g;   s = nb2 * q;   v' = t + s
//   r = sqrt(v');   r = r / root;   d = r + eps
//   u = m' / d;   u = step * u;   p' = p - u
// REQUIRES beta1_power < 1, beta2_power < 1.
template <class T>
void adam(const KernelContext& ctx, const AdamArgs& args, int64_t n, const AdamTensors<T>& tensors);

}  // namespace isobit::kernels
