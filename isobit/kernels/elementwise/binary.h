// Two-operand arithmetic with numpy (ONNX) broadcasting.
//
// Determinism class `ordered-1`: each element is one IEEE 754 operation, rounded to nearest even; a NaN result is the
// canonical one (0x7fc00000, 0x7ff8000000000000) whatever the operands' payloads.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"
#include "isobit/kernels/elementwise/broadcast.h"

namespace isobit::kernels {

// kMax, kMin: a NaN operand gives the canonical NaN; +0 is greater than -0, so max(+0, -0) = +0 and min(+0, -0) = -0 in
// either order of the operands.
// Integers: kAdd, kSub, kMul wrap modulo 2^bits (two's complement). kDiv truncates toward zero; x / 0 = 0 and
// lowest / -1 = lowest, so that no operand traps.
enum class BinaryOp { kAdd, kSub, kMul, kDiv, kMax, kMin };

// dst[i] = op(a[i'], b[i'']), the row-major output of plan.elements elements.
// T: NumberTypes. REQUIRES a plan of plan_broadcast(a, b). dst may be a (or b) itself when that operand is not
// repeated; no other overlap.
template <class T>
void binary(const KernelContext& ctx, BinaryOp op, const BroadcastPlan& plan, const T* a, const T* b, T* dst);

// The same for two operands of n elements.
template <class T>
void binary(const KernelContext& ctx, BinaryOp op, int64_t n, const T* a, const T* b, T* dst);

}  // namespace isobit::kernels
