#include "isobit/train/step_graph_micro_batches.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/graph/passes/append.h"

namespace isobit::train {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::ValueId;

size_t at(ValueId id) { return static_cast<size_t>(id); }

// Adds up lists of values, entry by entry, by the tree of the header: one sum for each subtree that is whole, the
// largest first, each of twice as many micro-batches as the next one or more.
class TreeSum {
 public:
  TreeSum(Graph& graph, std::vector<std::string> names) : graph_(graph), names_(std::move(names)) {}

  // Of the micro-batch after those that are there.
  void add(std::vector<ValueId> values) {
    subtrees_.push_back({count_, 1, std::move(values)});
    ++count_;
    while (subtrees_.size() > 1 && subtrees_.back().count == subtrees_[subtrees_.size() - 2].count) join();
  }

  std::vector<ValueId> total() {
    while (subtrees_.size() > 1) join();
    return subtrees_.front().values;
  }

 private:
  struct Subtree {
    int64_t first = 0, count = 0;  // micro-batches
    std::vector<ValueId> values;
  };

  // The last two.
  void join() {
    const Subtree right = std::move(subtrees_.back());
    subtrees_.pop_back();
    Subtree& left = subtrees_.back();
    left.count += right.count;
    const std::string prefix = text_of("micro", left.first, "-", left.first + left.count - 1, "/");
    for (size_t i = 0; i < names_.size(); ++i) {
      left.values[i] = graph_.emit("Add", {left.values[i], right.values[i]}, {}, prefix + names_[i]);
    }
  }

  Graph& graph_;
  const std::vector<std::string> names_;
  std::vector<Subtree> subtrees_;
  int64_t count_ = 0;
};

// The graph of all micro-batches as it grows.
class Repetition {
 public:
  Repetition(const Graph& part, const BackwardPass& pass, int64_t count) : part_(part), count_(count) {
    batched_ = pass.inputs;
    if (pass.target != kNoValue) batched_.push_back(pass.target);
    shared_.assign(static_cast<size_t>(part.value_count()), kNoValue);
    for (const ValueId id : part.inputs()) {
      const graph::Value& value = part.value(id);
      std::vector<int64_t> dims = value.dims;
      if (std::ranges::find(batched_, id) != batched_.end()) dims[0] *= count;
      shared_[at(id)] = graph.add_input(value.name, value.dtype, std::move(dims));
    }
    for (const graph::Initializer& i : part.initializers()) {
      shared_[at(i.value)] = graph.add_initializer(part.value(i.value).name, i.tensor);
    }
  }

  // What a value of the part is that every micro-batch reads.
  ValueId shared(ValueId id) const { return id == kNoValue ? kNoValue : shared_[at(id)]; }

  // The values of micro-batch m, by value of the part. buffers: what it reads in place of those of the state.
  Expected<std::vector<ValueId>> append(int64_t m, const std::vector<std::pair<ValueId, ValueId>>& buffers) {
    const std::string prefix = text_of("micro", m, "/");
    std::vector<ValueId> values = shared_;
    for (const auto& [buffer, value] : buffers) values[at(buffer)] = value;
    for (const ValueId id : batched_) {
      const graph::Value& value = part_.value(id);
      std::vector<int64_t> starts(value.dims.size(), 0);
      starts[0] = m * value.dims[0];
      values[at(id)] = graph.emit("isobit.Block", {shared_[at(id)]}, {{"starts", starts}, {"counts", value.dims}},
                                  prefix + value.name);
    }
    ISOBIT_RETURN_IF_ERROR(
        graph::append(graph, part_, prefix, values, [&](const graph::Node& node) { return attributes_of(node, m); }));
    return values;
  }

  // The mean over the micro-batches, of their sum.
  ValueId mean(ValueId sum, const std::string& name) {
    if (divisor_ == kNoValue) {
      divisor_ = graph.add_initializer("micro_batches", Tensor::scalar(static_cast<float>(count_)));
    }
    return graph.emit("Div", {sum, divisor_}, {}, name);
  }

  Graph graph;

 private:
  graph::Attributes attributes_of(const graph::Node& node, int64_t m) const {
    graph::Attributes attributes = node.attributes;
    if (!graph::op_of(node).draws_by_element || m == 0) return attributes;
    const int64_t elements = part_.value(node.inputs[0]).shape().elements();
    attributes.set(graph::kFirstDraw, attributes.integer(graph::kFirstDraw, 0) + m * elements);
    return attributes;
  }

  const Graph& part_;
  const int64_t count_;
  std::vector<ValueId> batched_;  // of the part: samples and target
  std::vector<ValueId> shared_;
  ValueId divisor_ = kNoValue;
};

// Of everything that is added up: the loss, then the gradients.
std::vector<ValueId> summands(const BackwardPass& pass) {
  std::vector<ValueId> ids = {pass.loss};
  ids.insert(ids.end(), pass.grads.begin(), pass.grads.end());
  return ids;
}

Status check_nodes(const Graph& part, size_t sums, int64_t count) {
  const size_t each = part.nodes().size() + sums + 2, most = kMostStepNodes / static_cast<size_t>(count);
  if (each <= most) return {};
  return unreadable(text_of("data.micro_batches: ", count, " micro-batches of about ", each,
                            " operators are more than the ", kMostStepNodes, " that a step may have; take at most ",
                            kMostStepNodes / each));
}

}  // namespace

Expected<BackwardPass> of_micro_batches(BackwardPass pass, int64_t count) {
  ISOBIT_CHECK(count >= 2);
  const Graph part = std::move(pass.model.graph);
  const std::vector<ValueId> parts = summands(pass);
  ISOBIT_RETURN_IF_ERROR(check_nodes(part, parts.size(), count));
  std::vector<std::string> names;
  for (const ValueId id : parts) names.push_back(part.value(id).name);

  Repetition all(part, pass, count);
  TreeSum sum(all.graph, names);
  std::vector<std::pair<ValueId, ValueId>> buffers;
  pass.losses.clear();
  for (int64_t m = 0; m < count; ++m) {
    ISOBIT_TRY(const std::vector<ValueId> values, all.append(m, buffers));
    pass.losses.push_back(values[at(pass.loss)]);
    std::vector<ValueId> own;
    for (const ValueId id : parts) own.push_back(values[at(id)]);
    sum.add(std::move(own));
    buffers.clear();
    for (const models::Buffer& b : pass.model.buffers) {
      if (b.updated != kNoValue) buffers.emplace_back(b.value, values[at(b.updated)]);
    }
  }
  const std::vector<ValueId> totals = sum.total();
  pass.loss = all.mean(totals[0], names[0]);
  for (size_t i = 0; i < pass.grads.size(); ++i) pass.grads[i] = all.mean(totals[i + 1], names[i + 1]);

  for (ValueId& id : pass.inputs) id = all.shared(id);
  pass.target = all.shared(pass.target);
  models::Model& model = pass.model;
  for (ValueId& id : model.inputs) id = all.shared(id);
  model.step = all.shared(model.step);
  model.output = kNoValue;  // each micro-batch has its own
  for (FrozenSlot& p : pass.frozen) p.in = all.shared(p.in);
  for (models::Parameter& p : model.parameters) p.value = all.shared(p.value);
  for (models::Buffer& b : model.buffers) {
    const auto last = std::ranges::find(buffers, b.value, &std::pair<ValueId, ValueId>::first);
    if (last != buffers.end()) b.updated = last->second;
    b.value = all.shared(b.value);
  }
  model.graph = std::move(all.graph);
  return pass;
}

}  // namespace isobit::train
