// Activations and their gradients.
//
// Determinism class `ordered-1`: each element is the sequence written here; every line is one operation of T rounded to
// nearest even, no fma. exp, erf, tanh, sigmoid and gelu of a float are correctly rounded (cr_* of
// numerics/functions.h); of a double they are the written sequences f64_* there, and the text below is the same in
// binary64. NaN results are canonical.
//
// T: float, double. dst may be src; diff_src may be any of the inputs.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// x > 0 ? x : NaN if x is NaN, else +0. (relu(-0) = +0.)
template <class T>
void relu(const KernelContext& ctx, int64_t n, const T* src, T* dst);
// x > 0 ? dy : +0. src may be relu's input or its output: both give the same bits. NaN src counts as not > 0.
template <class T>
void relu_grad(const KernelContext& ctx, int64_t n, const T* src, const T* diff_dst, T* diff_src);

// x >= 0 ? x : alpha * x.
template <class T>
void leaky_relu(const KernelContext& ctx, int64_t n, T alpha, const T* src, T* dst);
// x > 0 ? dy : alpha * dy. src is leaky_relu's input.
template <class T>
void leaky_relu_grad(const KernelContext& ctx, int64_t n, T alpha, const T* src, const T* diff_dst, T* diff_src);

// 1 / (1 + exp(-x)) as one function.
template <class T>
void sigmoid(const KernelContext& ctx, int64_t n, const T* src, T* dst);
// dst is sigmoid's output y:  t = 1 - y;  u = t * y;  diff_src = u * dy.
template <class T>
void sigmoid_grad(const KernelContext& ctx, int64_t n, const T* dst, const T* diff_dst, T* diff_src);

template <class T>
void tanh(const KernelContext& ctx, int64_t n, const T* src, T* dst);
// dst is tanh's output y:  t = 1 - y;  u = 1 + y;  v = t * u;  diff_src = v * dy.
// (Not 1 - y * y, which loses every digit as |y| nears 1.)
template <class T>
void tanh_grad(const KernelContext& ctx, int64_t n, const T* dst, const T* diff_dst, T* diff_src);

// Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.
// kErf: x / 2 * (1 + erf(x / sqrt 2)).  kTanh: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
enum class GeluForm { kErf, kTanh };

// As one function; gelu(-inf) = -0.
template <class T>
void gelu(const KernelContext& ctx, GeluForm form, int64_t n, const T* src, T* dst);

// Constants, each the T nearest to the decimal text:
//   a = 0.70710678118654752440 (1 / sqrt 2)        k = 0.79788456080286535588 (sqrt(2 / pi))
//   q = 0.39894228040143267794 (1 / sqrt(2 pi))    b = 0.044715    b3 = 0.134145
// src is gelu's input, c = src clamped to [-40, 40] (which changes no finite result's limit and keeps inf * 0 away).
// kErf:   z = a * c;  e = erf(z);  u = 1 + e;  phi = 0.5 * u;
//         c2 = c * c;  w = -0.5 * c2;  g = exp(w);  d = q * g;  r = c * d;  s = phi + r;  diff_src = s * dy
// kTanh:  c2 = c * c;  c3 = c2 * c;  r = b * c3;  i = c + r;  z = k * i;  e = tanh(z);  u = 1 + e;  phi = 0.5 * u;
//         t = 1 - e;  v = t * u;  p = b3 * c2;  o = 1 + p;  l = k * o;  h = 0.5 * c;  w = h * v;  m = w * l;
//         s = phi + m;  diff_src = s * dy
template <class T>
void gelu_grad(const KernelContext& ctx, GeluForm form, int64_t n, const T* src, const T* diff_dst, T* diff_src);

}  // namespace isobit::kernels
