// An element of a node's output, or of a statistic of it, that somebody has to say the bits of without running the
// graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/element.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/element_formula.h"
#include "isobit/tensor/tensor.h"

namespace isobit::judge {

// The bytes of an element as a little-endian number, the ones that it does not have 0.
using Bits = uint64_t;

Bits bits_of(const Tensor& tensor, int64_t element);

// The bits of element number `element` of input i; nothing: they are not at hand.
using GuideOf = std::function<std::optional<Bits>(int, int64_t)>;

// What is asked, and the types that go with it. where.output and where.element, or where.statistic, are the asker's to
// set; where.operand and where.guide are ask_about's.
struct Question {
  graph::ElementQuery where;
  std::vector<DType> inputs = {};   // by input; anything for an absent one
  std::vector<DType> outputs = {};  // by output
  std::vector<graph::Statistic> statistics = {};
  std::vector<const Tensor*> constants = {};  // by input: the graph's, or null
  GuideOf guide = {};

  const graph::OpDef& def() const { return graph::op_of(where.node); }
  const graph::OutputDef& output() const { return def().output(where.output); }
  // Statistics have the type of input 0.
  DType type_of(const graph::ElementSource& s) const {
    return s.of_statistic ? inputs[0] : inputs[static_cast<size_t>(s.input)];
  }
  // Of what is asked for.
  DType type() const { return where.statistic ? inputs[0] : outputs[where.output]; }
  int64_t elements() const;  // of what the element is one of
};

// How much of an operand an element needs. Of most operands, the elements that needs_of (judge.h) names. But which ones
// these are may itself follow from operands: indices, lengths, conditions, coordinates. Of such an operand an element
// needs first
//   - single elements, which guides_of names: the index that a gather looks at, the label of a row, the coordinates of
//     a point; of what gathers itself from where indices say (the gradient of a gather along a line, of sampling at
//     points), all that may name it; or
//   - all of it, which whole_operands names: where any of its elements may (the gradient of an embedding).
// What is a constant of the graph is known to whoever knows the graph, and is neither.
//
// About a node of the graph. operand: the tensor behind an input that is needed as a whole. guide: the elements that
// guides_of names; empty: operand has these inputs, too. Graph and node must outlive it. kUnreadable where a shape is
// not known before the run.
Expected<Question> ask_about(const graph::Graph& graph, const graph::Node& node,
                             std::function<const Tensor*(int)> operand, GuideOf guide = {});

// The formula of what is asked for, or null.
const runtime::ElementFormula* formula_of(const Question& q);

struct WholeOperand {
  int input = 0;
  int64_t bytes = 0;
  bool operator==(const WholeOperand&) const = default;
};
// Of what is asked for, whichever element.
std::vector<WholeOperand> whole_operands(const Question& q);

// Which elements say where, stage by stage: those of a stage may follow from those of the stages before it, which are
// at hand by then. REQUIRES 0 <= stage < guide_stages(q). kUnreadable: something is not at hand, or an element that no
// operand has is named.
size_t guide_stages(const Question& q);
Expected<std::vector<graph::ElementSource>> guides_of(const Question& q, size_t stage);

// Whether all that needs_of looks at is at hand, and of the types and shapes that the graph says. kUnreadable as
// guides_of.
Status check_guides(const Question& q);
// Whether these are elements of their operands and statistics.
Status check_elements(const Question& q, const std::vector<graph::ElementSource>& elements);

}  // namespace isobit::judge
