#include "isobit/train/trace_schema.h"

#include <algorithm>
#include <map>
#include <set>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"

namespace isobit::train {
namespace {

using graph::kNoValue;
using graph::ValueId;
using Kind = TraceEntry::Kind;

// What of the graph decides how its values are cut.
struct Roles {
  std::map<ValueId, std::string> replaces;  // what a slot becomes -> the name of the slot
  std::set<ValueId> like_state;             // read or made where state is replaced
  std::set<ValueId> matrices;               // read or made by an operator on matrices
  std::set<ValueId> in_one_row;             // not cut at all
};

Roles roles_of(const StepGraph& step) {
  Roles roles;
  for (const StateSlot& slot : step.slots) {
    roles.like_state.insert(slot.in);
    roles.replaces[slot.out] = slot.name;
  }
  for (const graph::Node& node : step.graph.nodes()) {
    const bool replaces =
        std::ranges::any_of(node.outputs, [&](ValueId id) { return id != kNoValue && roles.replaces.contains(id); });
    const graph::OpDef& def = graph::op_of(node);
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (ValueId id : *ids) {
        if (id == kNoValue) continue;
        if (replaces) roles.like_state.insert(id);
        if (def.on_matrices()) roles.matrices.insert(id);
      }
    }
  }
  return roles;
}

class Schema {
 public:
  Schema(const graph::Graph& graph, Roles roles) : graph_(graph), roles_(std::move(roles)) {}

  void value(Kind kind, ValueId id, int64_t node = -1, int64_t place = -1) {
    const graph::Value& value = graph_.value(id);
    ISOBIT_CHECK(value.is_static());
    const auto replaced = roles_.replaces.find(id);
    const std::string& name = replaced == roles_.replaces.end() ? value.name : replaced->second;
    const bool like_state = roles_.like_state.contains(id);
    const int rank = static_cast<int>(value.dims.size());
    const bool matrix = rank == 3 || roles_.matrices.contains(id);
    const bool uncut = rank < 2 || roles_.in_one_row.contains(id);
    const int split = uncut ? 0 : like_state || rank < 3 ? 1 : matrix ? rank - 1 : 2;
    entries.push_back({kind, node, place, name, value.dtype, value.dims, split});
  }

  void statistic(const graph::Node& node, const graph::Statistic& s, int64_t index, int64_t place) {
    const int rank = static_cast<int>(s.dims.size());
    const int split = rank < 2 ? 0 : rank < 3 ? 1 : rank - 1;
    entries.push_back({Kind::kStatistic, index, place, text_of(first_output(node), "#", s.name),
                       graph_.value(node.inputs[0]).dtype, s.dims, split});
  }

  void nodes() {
    const auto& nodes = graph_.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      const auto index = static_cast<int64_t>(n);
      const auto statistics = graph::statistics_of(graph_, nodes[n]);
      for (size_t s = 0; s < statistics.size(); ++s) {
        statistic(nodes[n], statistics[s], index, static_cast<int64_t>(s));
      }
      for (size_t o = 0; o < nodes[n].outputs.size(); ++o) {
        const ValueId id = nodes[n].outputs[o];
        if (id != kNoValue) value(Kind::kOutput, id, index, static_cast<int64_t>(o));
      }
    }
  }

  std::vector<TraceEntry> entries;

 private:
  const std::string& first_output(const graph::Node& node) const {
    const auto found = std::ranges::find_if(node.outputs, [](ValueId id) { return id != kNoValue; });
    ISOBIT_CHECK(found != node.outputs.end());
    return graph_.value(*found).name;
  }

  const graph::Graph& graph_;
  Roles roles_;
};

}  // namespace

const char* name_of(TraceEntry::Kind kind) {
  switch (kind) {
    case Kind::kState:
      return "state";
    case Kind::kBatch:
      return "batch";
    case Kind::kRate:
      return "rate";
    case Kind::kOutput:
      return "output";
    case Kind::kStatistic:
      return "statistic";
  }
  return "?";
}

std::vector<TraceEntry> trace_schema(const StepGraph& step) {
  Schema schema(step.graph, roles_of(step));
  for (const StateSlot& slot : step.slots) schema.value(Kind::kState, slot.in);
  for (ValueId id : step.inputs) schema.value(Kind::kBatch, id);
  if (step.target != kNoValue) schema.value(Kind::kBatch, step.target);
  for (ValueId id : {step.lr, step.step, step.beta1_power, step.beta2_power}) {
    if (id != kNoValue) schema.value(Kind::kRate, id);
  }
  schema.nodes();
  return std::move(schema.entries);
}

namespace {

// Of a step that is inference alone, and has its graph and its inputs.
void find_disputable(StepGraph& step) {
  const graph::Graph& graph = step.graph;
  std::set<ValueId> made(step.inputs.begin(), step.inputs.end());
  for (const graph::Node& node : graph.nodes()) {
    made.insert(node.outputs.begin(), node.outputs.end());
    step.disputable = step.disputable && !graph::op_of(node).runs_graphs;
  }
  for (const ValueId id : made) {
    if (id != kNoValue) step.disputable = step.disputable && graph.value(id).is_static();
  }
  for (const ValueId id : graph.outputs()) step.disputable = step.disputable && made.contains(id);
}

}  // namespace

StepGraph inference_step(const graph::Graph& graph) {
  StepGraph step;
  step.graph = graph;
  step.inputs = graph.inputs();
  find_disputable(step);
  return step;
}

StepGraph evaluation_step(const graph::Graph& graph, const std::function<bool(const std::string&)>& given) {
  StepGraph step;
  step.graph = graph;
  for (const ValueId id : graph.inputs()) {
    if (!given(graph.value(id).name)) step.inputs.push_back(id);
  }
  find_disputable(step);
  return step;
}

std::vector<TraceEntry> evaluation_schema(const StepGraph& evaluation) {
  Roles roles = roles_of(evaluation);
  roles.in_one_row.insert(evaluation.graph.outputs().begin(), evaluation.graph.outputs().end());
  Schema schema(evaluation.graph, std::move(roles));
  for (const ValueId id : evaluation.inputs) schema.value(Kind::kBatch, id);
  schema.nodes();
  return std::move(schema.entries);
}

std::vector<TraceEntry> inference_schema(const StepGraph& inference) {
  Roles roles = roles_of(inference);
  roles.like_state.insert(inference.inputs.begin(), inference.inputs.end());
  roles.like_state.insert(inference.graph.outputs().begin(), inference.graph.outputs().end());
  Schema schema(inference.graph, std::move(roles));
  for (const ValueId id : inference.inputs) schema.value(Kind::kBatch, id);
  schema.nodes();
  return std::move(schema.entries);
}

Bytes trace_entry_bytes(const TraceEntry& entry, uint64_t index) {
  ByteWriter w;
  w.text("isobit.trace-entry");
  w.u32(1);
  w.u64(index);
  w.u8(static_cast<uint8_t>(entry.kind));
  w.i64(entry.node);
  w.i64(entry.place);
  w.text(entry.name);
  w.u8(static_cast<uint8_t>(entry.dtype));
  w.u64(entry.dims.size());
  for (int64_t d : entry.dims) w.i64(d);
  w.u32(static_cast<uint32_t>(entry.split));
  return w.take();
}

}  // namespace isobit::train
