// What one element of an output is made of: for somebody who judges single elements and runs no graph. Elements are
// numbered row-major. The work is that of the element, not of the tensors: at most a look at the operands that say
// where.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph {

// Element number `element` of input number `input`; or of statistic number `input` of the same node.
struct ElementSource {
  int input = 0;
  int64_t element = 0;
  bool of_statistic = false;
  bool operator==(const ElementSource&) const = default;
};

// An element that says where others are: an index, a length, a condition (integer), or a coordinate (real).
struct GuideValue {
  int64_t integer = 0;
  double real = 0;
};

// An element of an output of a node whose shapes are known, or of a statistic of it.
struct ElementQuery {
  const Node& node;
  std::vector<std::vector<int64_t>> inputs = {};   // dimensions, by input; nothing of an absent one
  std::vector<std::vector<int64_t>> outputs = {};  // by output
  // The tensor behind input i: asked of those that are needed as a whole (OutputDef::whole). Null: the input is absent.
  std::function<const Tensor*(int)> operand = {};
  // Element number `element` of input i: asked of those that OutputDef::guides names. Empty: operand has them.
  std::function<GuideValue(int, int64_t)> guide = {};
  size_t output = 0;
  int64_t element = 0;
  // Of who asks for statistics, or for what is made with them (statistics_of): by statistic; and the one that is asked
  // for in place of an output.
  std::vector<std::vector<int64_t>> statistics = {};
  std::optional<size_t> statistic = {};

  // Of what the element is one of.
  const std::vector<int64_t>& dims() const { return statistic ? statistics[*statistic] : outputs[output]; }
  bool has(int input) const {
    return input < static_cast<int>(node.inputs.size()) && node.inputs[static_cast<size_t>(input)] != kNoValue;
  }
  // By `guide`, or from the operand.
  GuideValue guide_at(int input, int64_t element) const;
};

// The elements that the one which is asked for is made of, as its rule says (ElementRule): the one that it is, or none
// where it is zero (kMoved); at most one of each input (kPointwise); all of which it is the sum, the product or an
// extreme; of an inner product the pairs whose products are added, pair by pair, and what is added to them. What is
// made with statistics names first what its formula takes once, then what each of its terms takes, term by term in the
// order of the sum. REQUIRES a node that shape inference accepts. Where a guide names no element (an index outside its
// axis) there is one that no tensor has: number -1. Likewise kMoreThanListed alone, where they are more than
// kMostListed, or looking for them takes more: shapes and attributes may be anybody's.
inline constexpr int64_t kMostListed = int64_t{1} << 23, kMoreThanListed = -2;
using SourceRule = std::function<std::vector<ElementSource>(const ElementQuery&)>;

// The same of what may be made of so many elements that nobody wants a list of all: how many, and which one has the
// number i, for who asks element by element. The query must outlive it.
struct NumberedSources {
  int64_t count = 0;
  std::function<ElementSource(int64_t)> at = {};
};
using SourceRange = std::function<NumberedSources(const ElementQuery&)>;
// Number `begin` to `end`.
std::vector<ElementSource> sources_between(const NumberedSources& numbered, int64_t begin, int64_t end);

}  // namespace isobit::graph
