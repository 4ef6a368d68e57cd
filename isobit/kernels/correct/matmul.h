// Matrix product. Determinism class: `correct-1`.
//
// c[i, j] is the float32 nearest, ties to even, to the exact real number
//     sum over l of a[i, l] * b[l, j]  (+ bias[j], one more summand of the same exact sum).
//   An exact sum of zero is +0, whatever the signs of its terms. A nonzero sum that underflows keeps its sign. A sum of
//   magnitude 2^128 - 2^103 or more is an infinity.
//   If a term or the bias is NaN, if a term is 0 * Inf, or if both +Inf and -Inf are among the terms and the bias, the
//   result is the canonical NaN 0x7fc00000; else, if one of them is an infinity, that infinity.
//   k = 0 gives +0, or the bias (+0 for -0).
// So the result is a mathematical fact: it depends on no kernel, order, tile or thread count.
//
// How: an approximation x by any float64 product, a bound d on its distance from the exact sum (engine.h), and the
// answer where x - d and x + d round alike; the others get a closer look (closer_look.h) or are evaluated again,
// more accurately (repair.h).
// Source: the floating-point filter of J. R. Shewchuk, Adaptive precision floating-point arithmetic and fast robust
// geometric predicates, Discrete & Computational Geometry 18, 1997.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "isobit/base/status.h"
#include "isobit/kernels/context.h"
#include "isobit/kernels/correct/instruments.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/product/matrix_product.h"

namespace isobit::kernels::correct {

// Counts of output elements; how many go which way depends on the float64 product, the outputs do not.
struct Statistics {
  int64_t elements = 0;
  int64_t zeros = 0;     // undecided by the filter, without a single nonzero term: +0 (or the bias) by the zero test
  int64_t settled = 0;   // undecided by the filter, decided by a closer look (closer_look.h)
  int64_t repaired = 0;  // evaluated again, `exact` included
  int64_t exact = 0;     // of these, undecided by the doubled-precision sum and settled by the exact accumulator
  int64_t combined = 0;  // of these, put together exactly from residues (integer/exact.h)
  int64_t sampled = 0;   // elements looked at to see whether the product is classical (watch.h)
  double terms = 0;      // of the sums of all elements
  double sampled_terms = 0;  // of those looked at

  Statistics& operator+=(const Statistics& other) {
    elements += other.elements;
    zeros += other.zeros;
    settled += other.settled;
    repaired += other.repaired;
    exact += other.exact;
    combined += other.combined;
    terms += other.terms;
    sampled += other.sampled;
    sampled_terms += other.sampled_terms;
    return *this;
  }
};

// Working memory, kept between calls so that large blocks are not mapped anew each time. Content is meaningless.
class Workspace {
 public:
  // At least `count` doubles, valid until the next call for the same slot.
  double* doubles(int slot, size_t count);

 private:
  static constexpr int kSlots = 4;
  std::unique_ptr<double[]> memory_[kSlots];
  size_t size_[kSlots] = {};
};

class Watch;  // watch.h
namespace integer {
class Backend;  // integer/backend.h
}  // namespace integer

// kernel.isa == kReference: the scalar specification, without the product. One call at a time per product, pool,
// workspace and watch.
struct CorrectContext {
  KernelContext kernel;
  MatrixProduct* product = nullptr;  // not owned; never null unless kernel.isa == kReference
  Workspace* workspace = nullptr;    // not owned; null for memory of the call's own
  Statistics* statistics = nullptr;  // not owned; added to, if not null
  Instruments instruments = {};      // none
  Watch* watch = nullptr;            // not owned; null for no sample
  // Not owned; what it does not take, and everything if it is null, the float64 product computes.
  integer::Backend* integer = nullptr;
};

// Shapes, strides and overlaps as in kernels/matmul/matmul.h. Errors, after which c must not be used:
// kUnreadable: m, n or k of 2^31 or more, for which the bounds do not hold. kUnavailable: the float64 product is shown
// not to be classical (watch.h), or left the thread with another floating-point environment.
Status matmul(const CorrectContext& ctx, const MatmulArgs<float>& args);

}  // namespace isobit::kernels::correct
