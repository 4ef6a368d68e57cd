#include "isobit/judge/question.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/judge/words.h"

namespace isobit::judge {

Bits bits_of(const Tensor& tensor, int64_t element) {
  const size_t size = size_of(tensor.dtype());
  const auto* from = static_cast<const uint8_t*>(tensor.raw()) + static_cast<size_t>(element) * size;
  Bits bits = 0;
  for (size_t i = 0; i < size; ++i) bits |= Bits{from[i]} << (8 * i);
  return bits;
}

int64_t Question::elements() const { return Shape(where.dims()).elements(); }

namespace {

graph::GuideValue value_of(DType dtype, Bits bits) {
  if (dtype == DType::kBool) return {.integer = static_cast<int64_t>(bits)};
  graph::GuideValue value;
  by_type(NumberTypes{}, dtype, [&]<class T>(T) {
    const T x = from_word<T>(bits);
    if constexpr (std::is_floating_point_v<T>) {
      value.real = static_cast<double>(x);
    } else {
      value.integer = static_cast<int64_t>(x);
    }
  });
  return value;
}

const std::vector<graph::SourceRule>& guide_rules(const Question& q) {
  if (q.where.statistic) return q.statistics[*q.where.statistic].guides;
  const runtime::ElementFormula* formula = formula_of(q);
  return formula != nullptr && formula->sampled ? formula->guides : q.output().guides;
}

tl::unexpected<Error> not_at_hand(const Question& q, const std::string& what) {
  return unreadable(
      text_of("node '", q.where.node.name, "': ", what, " says where an element is from, and is not at hand"));
}

// The tensor behind input i has the type and the shape that the graph says.
Status check_operand(const Question& q, int i) {
  const Tensor* tensor = q.where.operand ? q.where.operand(i) : nullptr;
  if (tensor == nullptr) return not_at_hand(q, text_of("input ", i));
  const auto n = static_cast<size_t>(i);
  if (tensor->dtype() == q.inputs[n] && tensor->shape().dims() == q.where.inputs[n]) return {};
  return unreadable(text_of("node '", q.where.node.name, "': input ", i, " is ", name_of(tensor->dtype()), " ",
                            tensor->shape().text(), ", expected ", name_of(q.inputs[n]), " ",
                            Shape(q.where.inputs[n]).text()));
}

Status check_at_hand(const Question& q, const std::vector<graph::ElementSource>& guides) {
  for (const graph::ElementSource& s : guides) {
    if (!q.guide) {
      ISOBIT_RETURN_IF_ERROR(check_operand(q, s.input));
    } else if (!q.guide(s.input, s.element)) {
      return not_at_hand(q, text_of("element ", s.element, " of input ", s.input));
    }
  }
  return {};
}

}  // namespace

const runtime::ElementFormula* formula_of(const Question& q) {
  const runtime::ElementFormulas* all = runtime::element_formulas(q.where.node);
  if (all == nullptr) return nullptr;
  const auto& of_kind = q.where.statistic ? all->statistics : all->outputs;
  const size_t number = q.where.statistic.value_or(q.where.output);
  return number < of_kind.size() ? &of_kind[number] : nullptr;
}

std::vector<WholeOperand> whole_operands(const Question& q) {
  std::vector<WholeOperand> operands;
  for (size_t i = 0; !q.where.statistic && i < q.inputs.size(); ++i) {
    if (!q.where.has(static_cast<int>(i)) || q.constants[i] != nullptr || !q.output().whole.contains(i)) continue;
    const auto size = static_cast<int64_t>(size_of(q.inputs[i]));
    operands.push_back({static_cast<int>(i), Shape(q.where.inputs[i]).elements() * size});
  }
  return operands;
}

size_t guide_stages(const Question& q) { return guide_rules(q).size(); }

Expected<std::vector<graph::ElementSource>> guides_of(const Question& q, size_t stage) {
  const std::vector<graph::SourceRule>& rules = guide_rules(q);
  ISOBIT_CHECK(stage < rules.size());
  for (size_t before = 0; before < stage; ++before) {
    ISOBIT_TRY(const auto guides, guides_of(q, before));
    ISOBIT_RETURN_IF_ERROR(check_at_hand(q, guides));
  }
  std::vector<graph::ElementSource> guides = rules[stage](q.where);
  std::erase_if(guides, [&](const auto& s) { return q.constants[static_cast<size_t>(s.input)] != nullptr; });
  ISOBIT_RETURN_IF_ERROR(check_elements(q, guides));
  return guides;
}

Status check_guides(const Question& q) {
  for (const WholeOperand& whole : whole_operands(q)) ISOBIT_RETURN_IF_ERROR(check_operand(q, whole.input));
  const size_t stages = guide_stages(q);
  if (stages == 0) return {};
  // Which looks at those of the stages before it.
  ISOBIT_TRY(const auto last, guides_of(q, stages - 1));
  return check_at_hand(q, last);
}

Status check_elements(const Question& q, const std::vector<graph::ElementSource>& elements) {
  std::vector<int64_t> inputs, statistics;
  for (const auto& dims : q.where.inputs) inputs.push_back(Shape(dims).elements());
  for (const auto& dims : q.where.statistics) statistics.push_back(Shape(dims).elements());
  for (const graph::ElementSource& s : elements) {
    if (s.element == graph::kMoreThanListed) {
      return unreadable(text_of("node '", q.where.node.name, "': an element of it is made of more than ",
                                graph::kMostListed, " others that nothing numbers, more than are listed"));
    }
    const int64_t count = (s.of_statistic ? statistics : inputs)[static_cast<size_t>(s.input)];
    if (s.element >= 0 && s.element < count) continue;
    return unreadable(text_of("node '", q.where.node.name, "': an element is asked for that ",
                              s.of_statistic ? "statistic " : "input ", s.input, " does not have"));
  }
  return {};
}

Expected<Question> ask_about(const graph::Graph& graph, const graph::Node& node,
                             std::function<const Tensor*(int)> operand, GuideOf guide) {
  Question q{.where = {.node = node}};
  const auto known = [&](graph::ValueId id, std::vector<std::vector<int64_t>>& dims, std::vector<DType>& types) {
    const bool is_there = id != graph::kNoValue;
    dims.push_back(is_there ? graph.value(id).dims : std::vector<int64_t>{});
    types.push_back(is_there ? graph.value(id).dtype : DType::kFloat32);
    return !is_there || graph.value(id).is_static();
  };
  bool all_known = true;
  for (const graph::ValueId id : node.inputs) all_known &= known(id, q.where.inputs, q.inputs);
  for (const graph::ValueId id : node.outputs) all_known &= known(id, q.where.outputs, q.outputs);
  if (!all_known) return unreadable(text_of("node '", node.name, "': its shapes are not known before the run"));
  q.statistics = graph::statistics_of(graph, node);
  for (const graph::Statistic& s : q.statistics) q.where.statistics.push_back(s.dims);
  for (const graph::ValueId id : node.inputs) {
    q.constants.push_back(id == graph::kNoValue ? nullptr : graph.initializer(id));
  }
  q.guide = std::move(guide);
  q.where.operand = [constants = q.constants, operand = std::move(operand)](int i) {
    const Tensor* constant = constants[static_cast<size_t>(i)];
    return constant != nullptr || !operand ? constant : operand(i);
  };
  if (!q.guide) return q;
  // Of an input that is needed as a whole, the operand has the elements.
  std::vector<bool> of_operand;
  for (size_t i = 0; i < q.inputs.size(); ++i) {
    const bool is_whole = std::ranges::any_of(q.def().outputs, [i](const auto& o) { return o.whole.contains(i); });
    of_operand.push_back(is_whole || q.constants[i] != nullptr);
  }
  q.where.guide = [of_operand, operand = q.where.operand, types = q.inputs, guide = q.guide](int i, int64_t element) {
    const auto n = static_cast<size_t>(i);
    return value_of(types[n], of_operand[n] ? bits_of(*operand(i), element) : guide(i, element).value_or(0));
  };
  return q;
}

}  // namespace isobit::judge
