// A platform of logged arithmetic checks itself: one whose results are farther from the exact values than the job's
// bound allows must neither sign nor judge.
//
// Looked at are all near-ties, that is, all outputs that a trainer writes down or an auditor needs an entry for: they
// are few, and where a wrong bound would hurt. In addition, a sample of the outputs of every inner product is checked.
// It moves on from step to step, so that every output is checked once before any is checked twice.
//
// What is *not* noticed at a near-tie does no harm unless it is far beyond the bound: a trainer whose error is at most
// four times the allowed one, and an auditor whose error is at most twice the allowed one, either round an output as
// the exact value does or have it among their near-ties (near_ties.h). The sample is for what is farther off than that.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/log/counts.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/stages/legality.h"

namespace isobit::runtime {

// Whether a platform looks at its own results. One that does not is a dishonest trainer's.
enum class SelfCheck { kYes, kNo };

// One output of each product, and one more for so many. An evaluation costs about as much as 100 outputs of a fast
// product, so this is about a hundredth of the products' time.
inline constexpr uint64_t kOutputsPerSample = 16384;
inline uint64_t sample_size(uint64_t outputs) { return outputs == 0 ? 0 : 1 + outputs / kOutputsPerSample; }

// The position of sample q of a step (from 1) among `outputs`: over successive steps every output once before any comes
// twice. REQUIRES q < sample_size(outputs).
uint64_t sample_position(uint64_t step, uint64_t q, uint64_t outputs);

// At least the probability that a sample meets an output beyond the bound, when the share `share` is beyond it of all
// `outputs` of the products of a number of steps, in whatever products and steps they are, and which outputs of a
// product they are does not depend on where the sample falls: 1 - exp(-share * outputs / kOutputsPerSample).
//
// Of a product with m outputs n = sample_size(m) > m / kOutputsPerSample are checked. If b of them, any b being as
// likely as any other, are beyond the bound, none is met with probability C(m - b, n) / C(m, n) <= (1 - n / m)^b <=
// exp(-b / kOutputsPerSample); over products and steps these multiply and the b add up. Many checks of small products
// do not make up for few of a large one, so the number of checks in all says less. REQUIRES 0 <= share <= 1.
double noticing_probability(double share, uint64_t outputs);

// kUnavailable: an output is farther from its exact value than the job's bound lets a platform be, with both figures.
Status check_own(const KernelCall& call, const ErrorBounds& bounds,
                 const std::vector<kernels::rounding::ExactOutput>& outputs);

// Evaluates the sample of this step and checks it. Call it before the outputs are rounded.
Status check_sample(const KernelCall& call, const std::vector<kernels::rounding::ProductBlock>& blocks,
                    const ErrorBounds& bounds, uint64_t step, int bits, log::Counts& counts);

}  // namespace isobit::runtime
