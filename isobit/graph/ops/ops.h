// One function per operator family; each appends its definitions to the table.
#pragma once

#include <vector>

#include "isobit/graph/op.h"

namespace isobit::graph::ops {

void add_elementwise(std::vector<OpDef>& defs);
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
void add_optimizer(std::vector<OpDef>& defs);
void add_control(std::vector<OpDef>& defs);
void add_composite(std::vector<OpDef>& defs);

// Positions of the alternatives of Attribute, for expect_attributes.
inline constexpr size_t kInt = 0, kReal = 1, kText = 2, kInts = 3, kReals = 4, kTensor = 5, kGraph = 6;

// Traits of one output.
inline OutputDef output_by(ElementRule rule) { return {.rule = rule}; }
inline OutputDef output_by(ElementRule rule, std::vector<int> follows_from) {
  return {.rule = rule, .follows_from = {.some = std::move(follows_from)}};
}
// Moved from input i, of which no element comes twice.
inline OutputDef moved_from(int i, ElementRule rule = ElementRule::kMoved) {
  return {.rule = rule, .moved_from = {.some = {i}}, .takes_each_once = true};
}
// Moved from input i, of which an element may come several times.
inline OutputDef moved_from_repeatedly(int i, ElementRule rule = ElementRule::kMoved) {
  return {.rule = rule, .moved_from = {.some = {i}}};
}

// Adds an operator that our own kernels compute in either real type, to the same bits on every platform.
void add_ordered(std::vector<OpDef>& defs, OpDef def);

// Of a node's input 0: the dimensions but for the last one; the channels [C] of [N, C, ...].
std::vector<int64_t> row_dims(const Graph& graph, const Node& node);
std::vector<int64_t> channel_dims(const Graph& graph, const Node& node);

// Output 0 has the type of input 0.
Status infer_like_first(InferContext& c);

// An attribute that is a shape: no extent of it is negative. Empty when absent.
Expected<std::vector<int64_t>> read_extents(const Attributes& attributes, const std::string& name);

}  // namespace isobit::graph::ops
