// The formulas of softmax.h and log_sum_exp.h element by element, in their letters: one spelling for the references and
// for whoever computes single elements. T is float or double. Baseline translation units only.
#pragma once

#include "isobit/kernels/reduce/scalar.h"

namespace isobit::kernels::reference {

// e of an element; s is the sum of these.
template <class T>
T shifted_exp(T x, T m) {
  const T t = x - m;
  return exp_of(t);
}

template <class T>
T softmax_of(T e, T s) {
  return canonical(e / s);
}

template <class T>
T log_softmax_of(T x, T m, T l) {
  const T t = x - m;
  return canonical(t - l);
}

template <class T>
T softmax_grad_of(T y, T dy, T s) {
  const T d = dy - s;
  return canonical(y * d);
}

template <class T>
T log_softmax_grad_of(T y, T dy, T s) {
  const T p = exp_of(y);
  const T q = p * s;
  return canonical(dy - q);
}

// x: the element of the row's label.
template <class T>
T cross_entropy_of(T x, T m, T l) {
  const T t = x - m;
  return canonical(l - t);
}

template <class T>
T cross_entropy_grad_of(T x, bool is_label, T m, T l, T g) {
  const T t = x - m;
  const T v = t - l;
  const T p = exp_of(v);
  const T q = is_label ? p - T(1) : p;
  return canonical(q * g);
}

// What log_sum_exp takes from every element: a.
template <class T>
T finite_or_zero(T m) {
  return numerics::is_finite(m) ? m : T(0);
}

template <class T>
T log_sum_exp_of(T m, T s) {
  const T l = log_of(s);
  return canonical(l + finite_or_zero(m));
}

}  // namespace isobit::kernels::reference
