// Two-operand arithmetic with numpy (ONNX) broadcasting.
//
// Determinism class `ordered-1`: each element is one IEEE 754 operation, rounded to nearest even; a NaN result is the
// canonical one (0x7fc00000, 0x7ff8000000000000) whatever the operands' payloads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isobit/kernels/context.h"
#include "isobit/tensor/tensor.h"

namespace isobit::kernels {

// kMax, kMin: a NaN operand gives the canonical NaN; +0 is greater than -0, so max(+0, -0) = +0 and min(+0, -0) = -0 in
// either order of the operands.
// Integers: kAdd, kSub, kMul wrap modulo 2^bits (two's complement). kDiv truncates toward zero; x / 0 = 0 and
// lowest / -1 = lowest, so that no operand traps.
enum class BinaryOp { kAdd, kSub, kMul, kDiv, kMax, kMin };

// "[2,1,3] with [4,1]" -> [2,4,3]; nothing when two dimensions differ and neither is 1.
std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);

// How the output runs over its two operands: output dimensions from outer to inner, neighbours merged where both
// operands allow it, with the step of each operand in elements (0 where it is repeated). Depends on the shapes only, so
// it may be made once and kept.
struct BroadcastPlan {
  std::vector<int64_t> dims;
  std::vector<int64_t> a_steps;
  std::vector<int64_t> b_steps;
  int64_t elements = 0;
};

// REQUIRES broadcast_shape(a, b).
BroadcastPlan plan_broadcast(const Shape& a, const Shape& b);

// dst[i] = op(a[i'], b[i'']), the row-major output of plan.elements elements.
// T: float, double, int64_t, int32_t. dst may be a (or b) itself when that operand is not repeated; no other overlap.
template <class T>
void binary(const KernelContext& ctx, BinaryOp op, const BroadcastPlan& plan, const T* a, const T* b, T* dst);

// The same for two operands of n elements.
template <class T>
void binary(const KernelContext& ctx, BinaryOp op, int64_t n, const T* a, const T* b, T* dst);

}  // namespace isobit::kernels
