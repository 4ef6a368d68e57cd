#include "isobit/judge/way.h"

#include "isobit/base/text.h"

namespace isobit::judge {
namespace {

using graph::ElementRule;

tl::unexpected<Error> not_alone(const Question& q, const std::string& why) {
  const graph::Node& node = q.where.node;
  return unreadable(
      text_of("node '", node.name, "', operator ", node.op, ": an element cannot be judged alone: ", why));
}

// So many needs may be listed.
constexpr int64_t kFew = 4096;

// The statistic that becomes the output, or -1.
int own_statistic(const Question& q) {
  for (size_t s = 0; s < q.statistics.size(); ++s) {
    if (q.statistics[s].output == static_cast<int>(q.where.output)) return static_cast<int>(s);
  }
  return -1;
}

}  // namespace

Expected<Way> way_of(const Question& q) {
  if (q.where.statistic) {
    const graph::Statistic& statistic = q.statistics[*q.where.statistic];
    if (formula_of(q) != nullptr && statistic.sources) return Way::kFormula;
    return not_alone(q, "statistic " + statistic.name + " has no formula");
  }
  if (own_statistic(q) >= 0) return Way::kMoved;
  const graph::OutputDef& output = q.output();
  if (output.rule == ElementRule::kWhole) return not_alone(q, output.whole_because);
  if (output.rule == ElementRule::kNone) return not_alone(q, "its operator does not say what an element is");
  if (output.rule == ElementRule::kInnerProduct) return Way::kProduct;
  const runtime::ElementFormula* formula = formula_of(q);
  if (formula != nullptr && formula->sampled) return Way::kFormula;
  if (!output.sources) return not_alone(q, "where it comes from follows from real numbers, and is not said");
  if (formula != nullptr) return Way::kFormula;
  if (output.rule == ElementRule::kMoved) return Way::kMoved;
  if (output.rule == ElementRule::kPointwise && output.follows_from.empty()) {
    return not_alone(q, "it follows from shapes and attributes, and needs no operand");
  }
  if (output.rule == ElementRule::kPointwise) return Way::kOneByOne;
  const bool of_line = output.rule == ElementRule::kRanked || output.rule == ElementRule::kPlace;
  if (of_line || output.rule == ElementRule::kFormula) return Way::kAlongLine;
  return not_alone(q, "there is no formula of it");
}

std::vector<graph::ElementSource> needs_between(const Plan& plan, int64_t begin, int64_t end) {
  if (plan.numbered.at) return graph::sources_between(plan.numbered, begin, end);
  return {plan.needs.begin() + begin, plan.needs.begin() + end};
}

Expected<Plan> plan_for(const Question& q, Needs needs) {
  ISOBIT_CHECK(q.where.element >= 0 && q.where.element < q.elements());
  ISOBIT_TRY(const Way way, way_of(q));
  ISOBIT_RETURN_IF_ERROR(check_guides(q));
  Plan plan{.way = way, .needs = {}, .formula = way == Way::kFormula ? formula_of(q) : nullptr, .product = {}};
  const bool listed = needs == Needs::kListed;
  const bool made = q.where.statistic || own_statistic(q) < 0;  // and not the statistic that it is
  const graph::SourceRange& range = q.where.statistic ? q.statistics[*q.where.statistic].range : q.output().range;
  if (made && !listed && range && way == Way::kFormula) {
    plan.numbered = range(q.where);
    plan.count = plan.numbered.count;
    if (plan.count > kFew) return plan;
    plan.numbered = {};
  }
  if (q.where.statistic) {
    plan.needs = q.statistics[*q.where.statistic].sources(q.where);
  } else if (const int own = own_statistic(q); own >= 0) {
    plan.needs = {{own, q.where.element, true}};
  } else if (way == Way::kProduct) {
    plan.product = product_terms(q);
    if (!listed) return plan;
    if (plan.product.count > graph::kMostListed) {
      return not_alone(q, text_of("it has ", plan.product.count, " terms, more than are listed"));
    }
    plan.needs = sources_of(plan.product);
  } else if (plan.formula != nullptr && plan.formula->sampled) {
    runtime::Sampled sampled = plan.formula->sampled(q.where);
    plan.needs = std::move(sampled.sources);
    plan.weights = std::move(sampled.weights);
  } else {
    plan.needs = q.output().sources(q.where);
  }
  ISOBIT_RETURN_IF_ERROR(check_elements(q, plan.needs));
  plan.count = static_cast<int64_t>(plan.needs.size());
  const bool may_move = plan.formula != nullptr && plan.formula->moves_one && plan.formula->moves_one(q.where.node);
  if (may_move && plan.needs.size() == 1) plan.way = Way::kMoved;
  // As of a constant of a given shape: the shape is no element.
  if (way == Way::kOneByOne && plan.needs.empty()) {
    return not_alone(q, "it follows from shapes and attributes, and needs no operand");
  }
  return plan;
}

}  // namespace isobit::judge
