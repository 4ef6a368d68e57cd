#include "isobit/runtime/stages/log_follower.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {

using kernels::rounding::evaluate_outputs;
using kernels::rounding::ExactOutput;
using kernels::rounding::NearTie;
using kernels::rounding::ProductBlock;

void LogFollower::begin(uint64_t step, StateBefore before) {
  step_ = step;
  before_ = before;
  superfluous_ = 0;
  fault_.reset();
  illegal_.clear();
}

void LogFollower::begin_run(const graph::Graph& graph) {
  RoundingStage::begin_run(graph);
  shared_.assign(graph.value_count(), 0);
  const auto shared = [&](graph::ValueId id) -> char& { return shared_[static_cast<size_t>(id)]; };
  for (graph::ValueId id : graph.inputs()) shared(id) = before_ == StateBefore::kAgreed ? 1 : 0;
  for (const graph::Initializer& constant : graph.initializers()) shared(constant.value) = 1;
  for (const graph::Node& node : graph.nodes()) {
    const graph::OpDef& def = graph::op_of(node);
    // What the platform brings is the same on both sides where the log decides every rounding.
    const bool same_results = def.platform_independent || (rules_.sound && def.is_inner_product());
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] == graph::kNoValue) continue;
      bool same = same_results;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const graph::ValueId id = node.inputs[i];
        same = same && (id == graph::kNoValue || !def.output(o).follows_from.contains(i) || shared(id) != 0);
      }
      shared(node.outputs[o]) = same ? 1 : 0;
    }
  }
}

Expected<ErrorBounds> LogFollower::begin_product(KernelCall& call, const std::vector<ProductBlock>& blocks,
                                                 log::Counts& counts) {
  const ErrorBounds bounds = rules_.bounds_of(call.node.op, blocks[0].k);
  const Status checked = check_sample(call, blocks, bounds, step_, bits_, counts);
  if (checked) return bounds;
  fault_ = log::Fault{log::FaultKind::kOwnPlatform, call.node.name, checked.error().message};
  return tl::unexpected<Error>(checked.error());
}

Expected<std::vector<ExactOutput>> LogFollower::evaluate(const KernelCall& call,
                                                         const std::vector<ProductBlock>& blocks,
                                                         const ErrorBounds& bounds,
                                                         const std::vector<NearTie>& places) {
  std::vector<ExactOutput> outputs = evaluate_outputs(call.ctx, blocks, places, bits_);
  const Status checked = check_own(call, bounds, outputs);
  if (checked) return outputs;
  fault_ = log::Fault{log::FaultKind::kOwnPlatform, call.node.name, checked.error().message};
  return tl::unexpected<Error>(checked.error());
}

Status LogFollower::admit(const KernelCall& call, const ExactOutput& o, const Ruling& ruling, log::Counts& counts) {
  switch (ruling.standing) {
    case Standing::kIllegal:
      return refuse(
          call, o.at.position,
          text_of("the log says ", ruling.value, ", which no result within the sound error bound of the exact ",
                  "value rounds to; it is ", o.z.high, " and rounds to ", o.rounded));
    case Standing::kForbidden:
      return refuse(call, o.at.position,
                    text_of("the log says ", ruling.value, ", where no entry may stand: the terms cancel, so that the ",
                            "exact value decides; it is ", o.z.high, " and rounds to ", o.rounded));
    case Standing::kSuperfluous:
      ++counts.superfluous;
      if (++superfluous_ > kMostSuperfluous && on_illegal_ == OnIllegal::kEndStep) {
        return refuse(call, o.at.position,
                      text_of("is superfluous, and so are ", kMostSuperfluous, " others of this step: an honest log ",
                              "has none"));
      }
      break;
    case Standing::kBeyond:
      ++counts.beyond;
      break;
    case Standing::kMissing:
      ++counts.missing;
      break;
    case Standing::kCancels:
      ++counts.evaluated;
      break;
    case Standing::kDecided:
    case Standing::kFollowed:
      break;
  }
  const bool decision = ruling.standing == Standing::kFollowed || ruling.standing == Standing::kBeyond;
  const double own = kernels::rounding::round_to_bits(o.at.value, bits_);
  counts.corrections += decision && ruling.value != own ? 1 : 0;
  counts.moved += decision && ruling.value != o.rounded ? 1 : 0;
  return {};
}

Status LogFollower::refuse(const KernelCall& call, uint64_t position, const std::string& what) {
  const bool shared = std::all_of(call.node.inputs.begin(), call.node.inputs.end(), [&](graph::ValueId id) {
    return id == graph::kNoValue || (static_cast<size_t>(id) < shared_.size() && shared_[static_cast<size_t>(id)] != 0);
  });
  fault_ = log::Fault{shared ? log::FaultKind::kIllegal : log::FaultKind::kDiffers, call.node.name,
                      text_of(call.node.name, " (", call.node.op, "), element ", position, ": ", what)};
  return rejected(fault_->what);
}

Status LogFollower::reject_damaged(const std::string& op, const std::string& what) {
  fault_ = log::Fault{log::FaultKind::kDamaged, op, what};
  return rejected(what);
}

}  // namespace isobit::runtime
