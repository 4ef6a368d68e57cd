// What an element of a training step's graph is, from the few elements that it is made of: what a referee recomputes
// once a dispute has come down to it. The work is that of the element, never that of a tensor.
#pragma once

#include <span>
#include <vector>

#include "isobit/judge/question.h"
#include "isobit/kernels/context.h"
#include "isobit/platform/arithmetic.h"

namespace isobit::judge {

// Which elements of inputs, and of statistics of the same node, the element is made of, in the order in which its
// formula takes them: once taken ones first, then term by term in the written order of a sum. An output that a
// statistic becomes is that statistic's element; the statistic's own needs are asked for by its number. What says where
// these are is asked of the question (guides_of, whole_operands). kUnreadable, with the reason, for what cannot be
// judged alone, where something that says where is not at hand, and where it names an element that there is not.
Expected<std::vector<graph::ElementSource>> needs_of(const Question& q);

// Whether there is a way at all to judge what is asked for: without a look at which element it is, and at operands.
Status can_judge(const Question& q);

// The element's bits, as every kernel of `ordered-1` makes them from operands of these types, or for an inner product
// of float32 under an arithmetic that corrects (platform::Arithmetic) as `correct-1` does. values: of needs_of, one by
// one; what says where they are is asked of the question again. Of the outputs of an
// arithmetic that rounds this is what comes before the rounding; inner products are then judged otherwise (logged.h).
// ctx does not reach the bits. kUnreadable as needs_of, and for values that no node takes (another number of them).
Expected<Bits> evaluate(const kernels::KernelContext& ctx, const Question& q, std::span<const Bits> values,
                        const platform::Arithmetic& arithmetic);

}  // namespace isobit::judge
