// Whether the float64 product behind `correct-1` is what product/matrix_product.h asks for, seen while it is used: what
// the filter and the closer look decide stands on it. Internal.
//
//   - Every output that the repair evaluates again is known in doubled precision, z. No classical product is further
//     from it than the filter's bound d (engine.h), so |x - z| > d is a proof that this one is not classical. (What the
//     two are computed with is exact enough: d has two roundings more than the product's own, and the bound of z is
//     added to it.)
//   - One output of every kSampleOneIn, however it was decided, is evaluated as the repair does. Its x must be within
//         gamma_r * (1 + 2^-20) * M + (the bound of z),   r = min(t - 1, L + S - 1),
//     t its nonzero terms, bias included, M the sum of their magnitudes itself; must be the sum itself where all terms
//     lie on one grid (closer_look.h); and what was written must be its rounding. So the sample also sees products that
//     keep to the norms of lines, but not to the terms: fixed-point emulations, say.
//     It is drawn from each kSampleOneIn outputs in the order in which products come, at a place of its own that
//     changes from one to the next: over the steps every output may be looked at. Of M outputs of which the share s
//     breaks the rule, if which ones do does not depend on where the sample falls, one at least is drawn with
//     probability 1 - exp(-s M / kSampleOneIn) or more: the chance to draw none is the product over the stretches of 1
//     - (bad ones in it) / kSampleOneIn. The cost: kSampleOperations for each term of one line, against 2 *
//     kSampleOneIn of the product itself, which is a quarter of a percent.
//
// Not noticed: a product whose errors stay within these bounds. Its results are right where the filter decided; where
// the closer look did (by the number of terms, by a grid), an output that the sample has not met may be wrong.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/kernels/correct/closer_look.h"
#include "isobit/kernels/correct/evaluate.h"

namespace isobit::kernels::correct {

inline constexpr int64_t kSampleOneIn = 8192;
// Operations for each term of a line that is looked at, at most: gathering both lines, their masks and grids, the
// magnitudes and the doubled-precision sum.
inline constexpr double kSampleOperations = 40;

// Draws the sample. Kept from product to product.
class Watch {
 public:
  // one_in: other than kSampleOneIn for tests only.
  explicit Watch(int64_t one_in = kSampleOneIn) : one_in_(static_cast<uint64_t>(one_in)) {}
  // Of the next `count` outputs, those to be looked at: places in [0, count), ascending.
  std::vector<int64_t> draw(int64_t count);

 private:
  uint64_t one_in_;
  uint64_t seen_ = 0;
};

// An output that no classical product gives, or that was rounded wrongly.
struct Breach {
  int64_t i = 0, j = 0;
  double x = 0, exact = 0, most = 0;  // approximation, exact value, largest distance
  float written = 0, nearest = 0;     // only where x is near enough
};

// Of one product; filled by several threads. Keeps the first in row order, so that the message repeats itself.
class Breaches {
 public:
  void note(const Breach& breach);
  // kUnavailable, where one was noted. product: its name.
  Status status(const Matrices& problem, const std::string& product, Backing backing) const;

 private:
  std::mutex mutex_;
  std::optional<Breach> first_;
};

// Notes output (i, j) unless its x is within `most` of the sum.
void compare(const EvaluatedSum& e, const Undecided& u, double most, Breaches& breaches);

// Looks at the outputs `sample` of a tile, whose x is the approximation. roundings: L + S - 1.
void check_sample(const CorrectContext& ctx, const Matrices& problem, const LaidOut& left, const LaidOut& right,
                  const std::vector<Undecided>& sample, int64_t roundings, Breaches& breaches, Statistics& statistics);

// The same of a product of which only this is known: x is within `most` of the sum.
struct BoundedItem {
  Undecided item;
  double most = 0;
};
void check_bounded_sample(const CorrectContext& ctx, const Matrices& problem, const LaidOut& left, const LaidOut& right,
                          const std::vector<BoundedItem>& sample, Breaches& breaches, Statistics& statistics);

}  // namespace isobit::kernels::correct
