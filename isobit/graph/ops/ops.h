// One function per operator family; each appends its definitions to the table.
#pragma once

#include <optional>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/graph/ops/sources.h"

namespace isobit::graph::ops {

void add_elementwise(std::vector<OpDef>& defs);
void add_activation(std::vector<OpDef>& defs);
void add_logic(std::vector<OpDef>& defs);
void add_quantize(std::vector<OpDef>& defs);
void add_linear(std::vector<OpDef>& defs);
void add_pool(std::vector<OpDef>& defs);
void add_columns(std::vector<OpDef>& defs);
void add_resize(std::vector<OpDef>& defs);
void add_sampling(std::vector<OpDef>& defs);
void add_detection(std::vector<OpDef>& defs);
void add_quantized_products(std::vector<OpDef>& defs);
void add_norm(std::vector<OpDef>& defs);
void add_softmax(std::vector<OpDef>& defs);
void add_reduce(std::vector<OpDef>& defs);
void add_order(std::vector<OpDef>& defs);
void add_movement(std::vector<OpDef>& defs);
void add_slicing(std::vector<OpDef>& defs);
void add_indexing(std::vector<OpDef>& defs);
void add_extent(std::vector<OpDef>& defs);
void add_optimizer(std::vector<OpDef>& defs);
void add_control(std::vector<OpDef>& defs);
void add_composite(std::vector<OpDef>& defs);

// Positions of the alternatives of Attribute, for expect_attributes.
inline constexpr size_t kInt = 0, kReal = 1, kText = 2, kInts = 3, kReals = 4, kTensor = 5, kGraph = 6;

// The rule of an attribute that holds the number of a type.
inline RetypeRule type_named_by(std::string attribute) {
  return [attribute = std::move(attribute)](Attributes attributes, DType from, DType to) {
    const bool named = attributes.has(attribute) && attributes.integer(attribute, -1) == static_cast<int64_t>(from);
    if (named) attributes.set(attribute, static_cast<int64_t>(to));
    return attributes;
  };
}

// Traits of one output. What is a formula of elements is one of those that broadcast to its place, if nothing else is
// said.
inline OutputDef made_of(SourceRule sources, OutputDef output) {
  output.sources = std::move(sources);
  return output;
}
inline Statistic made_of(SourceRule sources, Statistic statistic) {
  statistic.sources = std::move(sources);
  return statistic;
}
// The same where there may be very many of them.
inline SourceRule listed(SourceRange range) {
  return [range = std::move(range)](const ElementQuery& q) {
    const NumberedSources numbered = range(q);
    if (numbered.count > kMostListed) return std::vector<ElementSource>{{0, kMoreThanListed}};
    return sources_between(numbered, 0, numbered.count);
  };
}
template <class Described>
Described made_of(SourceRange range, Described described) {
  described.sources = listed(range);
  described.range = std::move(range);
  return described;
}
inline OutputDef output_by(ElementRule rule) {
  return {.rule = rule, .sources = rule == ElementRule::kPointwise ? SourceRule(broadcast_elements) : SourceRule()};
}
inline OutputDef output_by(ElementRule rule, std::vector<int> follows_from) {
  OutputDef output = output_by(rule);
  output.follows_from = {.some = std::move(follows_from)};
  return output;
}
inline OutputDef judged_whole(const char* because) { return {.rule = ElementRule::kWhole, .whole_because = because}; }
// Moved from input i, of which no element comes twice.
inline OutputDef moved_from(int i, ElementRule rule) {
  OutputDef output = output_by(rule);
  output.moved_from = {.some = {i}};
  output.takes_each_once = true;
  return output;
}
// Moved from input i, of which an element may come several times.
inline OutputDef moved_from_repeatedly(int i, ElementRule rule) {
  OutputDef output = output_by(rule);
  output.moved_from = {.some = {i}};
  return output;
}
inline OutputDef moved_from(int i, SourceRule sources) {
  return made_of(std::move(sources), moved_from(i, ElementRule::kMoved));
}
inline OutputDef moved_from_repeatedly(int i, SourceRule sources) {
  return made_of(std::move(sources), moved_from_repeatedly(i, ElementRule::kMoved));
}

// Which elements say where its sources are, stage by stage; and which inputs do as a whole.
inline OutputDef guided_by(std::vector<SourceRule> guides, OutputDef output) {
  output.guides = std::move(guides);
  return output;
}
inline OutputDef guided_by_all_of(int input, OutputDef output) {
  output.whole = {.some = {input}};
  return output;
}

// Adds an operator that our own kernels compute in either real type, to the same bits on every platform.
void add_ordered(std::vector<OpDef>& defs, OpDef def);

// Of a node's input 0: the dimensions but for the last one; the channels [C] of [N, C, ...].
std::vector<int64_t> row_dims(const Graph& graph, const Node& node);
std::vector<int64_t> channel_dims(const Graph& graph, const Node& node);

// Refuses more axes than kernels take and, where all dimensions are known, more bytes than can be counted.
Status check_countable(DType dtype, const std::vector<int64_t>& dims);
// Output i has these dimensions, which are checked so.
Status set_countable_output(InferContext& c, int i, DType dtype, std::vector<int64_t> dims);

// Output 0 has the type of input 0 and `rank` dimensions that are not known yet; below 0: nor is the rank.
Status set_output_of_rank(InferContext& c, int64_t rank);

// Of rank 0, or one number in a list.
Status expect_one_number(const InferContext& c, int i);

// A parameter (parameters.h) that the node must have.
Expected<std::optional<std::vector<int64_t>>> needed_parameter(const InferContext& c, const char* name, int input);

// Output 0 has the type of input 0.
Status infer_like_first(InferContext& c);

// The same, of an operand of one of these types without attributes. infer_one<FloatTypes>
template <class Types>
Status infer_one(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, Types{}));
  return infer_like_first(c);
}

// All inputs have the type of the first; their shapes broadcast to what is returned.
Expected<std::vector<int64_t>> broadcast_inputs(InferContext& c);

// Two or more operands of one of these types, without attributes; the output has the type of the operands.
template <class Types>
Status infer_several(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, Types{}));
  ISOBIT_TRY(auto dims, broadcast_inputs(c));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// Attributes that are real numbers, if present, are finite.
Status expect_finite(const InferContext& c, std::initializer_list<const char*> names);

// An attribute that is a shape: no extent of it is negative. Empty when absent.
Expected<std::vector<int64_t>> read_extents(const Attributes& attributes, const std::string& name);

}  // namespace isobit::graph::ops
