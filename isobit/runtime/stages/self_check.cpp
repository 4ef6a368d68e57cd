#include "isobit/runtime/stages/self_check.h"

#include <cmath>
#include <numeric>

#include "isobit/base/text.h"

namespace isobit::runtime {

using kernels::rounding::evaluate_outputs;
using kernels::rounding::ExactOutput;
using kernels::rounding::locate;
using kernels::rounding::NearTie;
using kernels::rounding::ProductBlock;

uint64_t sample_position(uint64_t step, uint64_t q, uint64_t outputs) {
  // Strides of about the golden section spread what is looked at in neighbouring steps over the whole output.
  uint64_t stride = static_cast<uint64_t>(static_cast<double>(outputs) * 0.6180339887498949);
  while (stride > 1 && std::gcd(stride, outputs) != 1) --stride;
  if (stride < 1 || outputs > UINT32_MAX) stride = 1;
  return ((step - 1) * sample_size(outputs) + q) % outputs * stride % outputs;
}

double noticing_probability(double share, uint64_t outputs) {
  return -std::expm1(-share * static_cast<double>(outputs) / static_cast<double>(kOutputsPerSample));
}

Status check_own(const KernelCall& call, const ErrorBounds& bounds, const std::vector<ExactOutput>& outputs) {
  const double allowed = bounds.divergence / 2 + 1;
  for (const ExactOutput& o : outputs) {
    const double error = o.error();
    if (!(error > allowed)) continue;
    return unavailable(text_of(
        "this platform is beyond the job's error bound: ", call.node.name, " (", call.node.op, "), element ",
        o.at.position, ": off the exact value by ", error, " x 2^-53 of its magnitude, allowed ", allowed,
        error > bounds.sound / 2 + 1 ? "; no classical sum in IEEE float64 is so far off: take another platform"
                                     : "; calibrate the job's [rounding] divergences with `isobit thresholds`, or take "
                                       "another platform"));
  }
  return {};
}

Status check_sample(const KernelCall& call, const std::vector<ProductBlock>& blocks, const ErrorBounds& bounds,
                    uint64_t step, int bits, log::Counts& counts) {
  if (blocks.empty()) return {};
  const auto outputs = static_cast<uint64_t>(call.outputs[0].elements());
  std::vector<NearTie> places(sample_size(outputs));
  for (uint64_t q = 0; q < places.size(); ++q) places[q] = locate(blocks, sample_position(step, q, outputs));
  counts.sampled += outputs;
  counts.checked += places.size();
  return check_own(call, bounds, evaluate_outputs(call.ctx, blocks, places, bits));
}

}  // namespace isobit::runtime
