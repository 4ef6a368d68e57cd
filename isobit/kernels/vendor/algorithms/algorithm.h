// Ways to compute a forward convolution in float32 that other people's libraries choose from, each with bits of its
// own: what makes two machines, or one machine and itself, disagree on a network.
//
// Determinism class of everything in this folder, where a header does not say more: a function of the operands, of the
// shape, and of the library whose products or transforms are called. Nothing is promised between libraries, versions or
// processors. The threads of the pool reach no bit: every output is computed by one thread, in an order that follows
// from the shape. Gradients and matrix products are never touched: they stay the platform's own (over_own.h).
#pragma once

#include <cstdint>
#include <string>

#include "isobit/base/status.h"
#include "isobit/kernels/conv/conv.h"

namespace isobit::kernels::algorithms {

// The most working memory that an algorithm takes; a shape that needs more is refused, or computed in parts. Part sizes
// follow from the shape and from this number.
inline constexpr int64_t kWorkspaceBytes = int64_t{128} << 20;

// Operands and result as in conv/conv.h; bias may be null.
struct Call {
  const ConvShape& shape;
  const float* src;
  const float* weights;
  const float* bias;
  float* dst;
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  // "" where it computes such a convolution, else why it does not: "it has stride 1 only".
  virtual std::string refuses(const ConvShape& shape) const = 0;
  // REQUIRES a shape that is not refused, and what conv.h asks of it. One call at a time. Errors: the library's; after
  // one the result must not be used. std::bad_alloc where the working memory is not to be had.
  virtual Status forward(const Call& call) = 0;
};

// Units of work of that many elements each are worth a thread from here on.
inline int64_t grain_of(int64_t elements) { return 1 + (int64_t{1} << 14) / (elements < 1 ? 1 : elements); }

}  // namespace isobit::kernels::algorithms
