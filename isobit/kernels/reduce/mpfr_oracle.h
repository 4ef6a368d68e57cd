// Exact sums and variances by MPFR, for tests. Finite inputs whose results are normal float32 numbers.
#pragma once

#include <mpfr.h>

#include <vector>

namespace isobit::kernels::testing {

class Mpfr {
 public:
  explicit Mpfr(mpfr_prec_t precision = 2000) {
    mpfr_init2(value, precision);
    mpfr_set_zero(value, 1);
  }
  ~Mpfr() { mpfr_clear(value); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  // Rounded once to float32.
  float f32() {
    Mpfr r(24);
    mpfr_set(r.value, value, MPFR_RNDN);
    return mpfr_get_flt(r.value, MPFR_RNDN);
  }
  mpfr_t value;
};

struct MpfrMoments {
  float sum, squares, mean, variance;
};

// 2,000 bits hold every sum and product here exactly; the quotients are off by 2^-2000, relatively.
inline MpfrMoments mpfr_moments(const std::vector<float>& x) {
  Mpfr s, q, term, v;
  for (float xi : x) {
    mpfr_set_flt(term.value, xi, MPFR_RNDN);
    mpfr_add(s.value, s.value, term.value, MPFR_RNDN);
    mpfr_sqr(term.value, term.value, MPFR_RNDN);
    mpfr_add(q.value, q.value, term.value, MPFR_RNDN);
  }
  const unsigned long n = static_cast<unsigned long>(x.size());
  MpfrMoments m{s.f32(), q.f32(), 0, 0};
  mpfr_mul_ui(v.value, q.value, n, MPFR_RNDN);
  mpfr_sqr(term.value, s.value, MPFR_RNDN);
  mpfr_sub(v.value, v.value, term.value, MPFR_RNDN);
  mpfr_div_ui(v.value, v.value, n, MPFR_RNDN);
  mpfr_div_ui(v.value, v.value, n, MPFR_RNDN);
  mpfr_div_ui(s.value, s.value, n, MPFR_RNDN);
  m.mean = s.f32();
  m.variance = v.f32();
  return m;
}

}  // namespace isobit::kernels::testing
