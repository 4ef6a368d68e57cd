// Real numbers of 300 bits (MPFR), for tests.
#pragma once

#include <mpfr.h>

namespace isobit::kernels::testing {

class Real {
 public:
  Real(double x = 0) {
    mpfr_init2(v_, 300);
    mpfr_set_d(v_, x, MPFR_RNDN);
  }
  Real(const Real& o) : Real() { mpfr_set(v_, o.v_, MPFR_RNDN); }
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(v_); }
  template <class F, class... A>
  static Real of(F f, const A&... a) {
    Real r;
    f(r.v_, a.v_..., MPFR_RNDN);
    return r;
  }
  friend Real operator+(const Real& a, const Real& b) { return of(mpfr_add, a, b); }
  friend Real operator-(const Real& a, const Real& b) { return of(mpfr_sub, a, b); }
  friend Real operator*(const Real& a, const Real& b) { return of(mpfr_mul, a, b); }
  friend Real operator/(const Real& a, const Real& b) { return of(mpfr_div, a, b); }
  double value() const { return mpfr_get_d(v_, MPFR_RNDN); }
  template <class T>
  T rounded() const {
    if constexpr (sizeof(T) == 4)
      return mpfr_get_flt(v_, MPFR_RNDN);
    else
      return mpfr_get_d(v_, MPFR_RNDN);
  }

 private:
  mpfr_t v_;
};

inline Real pi() {
  return Real::of([](mpfr_t r, mpfr_rnd_t m) { return mpfr_const_pi(r, m); });
}
inline Real root(const Real& x) { return Real::of(mpfr_sqrt, x); }

}  // namespace isobit::kernels::testing
