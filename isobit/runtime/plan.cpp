#include "isobit/runtime/plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"

namespace isobit::runtime {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using Place = PlanBlock::Place;

namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMostBytes = INT64_MAX;  // what tensors count their elements in
constexpr const char* kUncountable = "needs more memory than can be counted";

Expected<uint64_t> bytes_of(const graph::Value& value) {
  if (!value.is_static()) {
    return unreadable(text_of("value '", value.name, "' of shape ", Shape(value.dims).text(),
                              ": the shape follows from data alone, which is not supported"));
  }
  const auto elements = checked_elements(value.dims, value.dtype, kMostBytes);
  if (!elements) {
    return unavailable(text_of("value '", value.name, "' of shape ", Shape(value.dims).text(), " ", kUncountable));
  }
  return static_cast<uint64_t>(*elements) * size_of(value.dtype);
}

Status add(uint64_t& sum, uint64_t bytes) {
  if (__builtin_add_overflow(sum, bytes, &sum) || sum > kMostBytes)
    return unavailable(text_of("the graph ", kUncountable));
  return {};
}

// Decides step by step which block every value has.
class BlockAssignment {
 public:
  BlockAssignment(const Graph& graph, StepList list) : graph_(graph) {
    plan_.steps = std::move(list.steps);
    plan_.copies = std::move(list.copies);
    plan_.block_of.assign(static_cast<size_t>(graph.value_count()) + plan_.copies.size(), -1);
    last_use_.assign(plan_.block_of.size(), -1);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const ValueId i : plan_.steps[s].inputs) {
        if (i != kNoValue) last_use_[at(i)] = static_cast<int64_t>(s);
      }
    }
    for (const ValueId o : graph.outputs()) last_use_[at(o)] = PlanBlock::kForever;
    find_chains();
  }

  Expected<Plan> run() {
    for (const ValueId i : graph_.inputs()) ISOBIT_RETURN_IF_ERROR(open(i, Place::kInput, -1));
    for (const graph::Initializer& i : graph_.initializers()) {
      ISOBIT_RETURN_IF_ERROR(open(i.value, Place::kInitializer, -1));
    }
    for (step_ = 0; step_ < static_cast<int64_t>(plan_.steps.size()); ++step_) {
      PlanStep& step = plan_.steps[static_cast<size_t>(step_)];
      ISOBIT_TRY(step.once, may_run_once(step));
      ISOBIT_RETURN_IF_ERROR(place(step));
    }
    for (const ValueId o : graph_.outputs()) {
      PlanBlock& block = block_of(o);
      if (block.place == Place::kArena) block.place = Place::kOutput;
      block.end = PlanBlock::kForever;
    }
    for (PlanStep& step : plan_.steps) {
      for (const ValueId o : step.outputs) step.once &= o == kNoValue || block_of(o).place == Place::kArena;
    }
    return std::move(plan_);
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id); }
  const graph::Value& value(ValueId id) const { return graph_.value(original(graph_, plan_.copies, id)); }
  PlanBlock& block_of(ValueId id) { return plan_.blocks[static_cast<size_t>(plan_.block_of[at(id)])]; }

  Status open(ValueId id, Place place, int64_t begin) {
    PlanBlock block;
    block.place = place;
    block.first_value = id;
    ISOBIT_TRY(block.bytes, bytes_of(value(id)));
    block.begin = block.end = begin;
    plan_.block_of[at(id)] = static_cast<int>(plan_.blocks.size());
    plan_.blocks.push_back(block);
    readers_.push_back(0);
    join(id);
    return {};
  }
  // The value has its block until its last use.
  void join(ValueId id) {
    block_of(id).end = std::max(block_of(id).end, last_use_[at(id)]);
    ++readers_[static_cast<size_t>(plan_.block_of[at(id)])];
  }
  void leave(ValueId id) { --readers_[static_cast<size_t>(plan_.block_of[at(id)])]; }

  // Those that are there.
  static std::vector<ValueId> each_once(std::vector<ValueId> ids) {
    std::erase(ids, kNoValue);
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    return ids;
  }

  // Steps whose one output nobody but the next step reads, and that can be computed with it; none of a node that runs
  // again, whose observers know it by itself.
  void find_chains() {
    reads_.assign(last_use_.size(), 0);
    runs_again_.assign(graph_.nodes().size(), false);
    chain_of_.resize(plan_.steps.size());
    std::iota(chain_of_.begin(), chain_of_.end(), size_t{0});
    for (const PlanStep& step : plan_.steps) {
      for (const ValueId i : each_once(step.inputs)) ++reads_[at(i)];
      if (step.again) runs_again_[step.node] = true;
    }
    for (size_t s = 0; s < plan_.steps.size(); s += plan_.steps[s].in_chain) {
      if (plan_.steps[s].kernel->bind_chain) bind_chain_at(s);
    }
  }

  // Whether the step after this one, and nothing else, reads what it makes.
  bool hands_on(size_t s) const {
    const PlanStep& step = plan_.steps[s];
    if (s + 1 == plan_.steps.size() || step.outputs.size() != 1 || step.outputs[0] == kNoValue) return false;
    const auto made = at(step.outputs[0]);
    return !runs_again_[step.node] && !runs_again_[plan_.steps[s + 1].node] && reads_[made] == 1 &&
           last_use_[made] == static_cast<int64_t>(s) + 1;
  }

  // The longest one.
  void bind_chain_at(size_t s) {
    PlanStep& step = plan_.steps[s];
    size_t most = 1;
    while (most < kMostInChain && hands_on(s + most - 1)) ++most;
    std::vector<KernelSite> sites;
    for (size_t t = s; t < s + most; ++t) sites.push_back({graph_, graph_.nodes()[plan_.steps[t].node]});
    for (; most > 1 && !step.at_once; --most) {
      step.at_once = step.kernel->bind_chain(std::span(sites).first(most));
      if (step.at_once) step.in_chain = most;
    }
    const size_t last = s + step.in_chain - 1;
    for (size_t t = s; t < last; ++t) {
      chain_of_[t + 1] = s;
      for (const ValueId i : each_once(plan_.steps[t].inputs)) {
        if (t == s || i != made_before(t)) last_use_[at(i)] = std::max(last_use_[at(i)], static_cast<int64_t>(last));
      }
    }
  }

  ValueId made_before(size_t s) const { return plan_.steps[s - 1].outputs[0]; }
  bool is_in_chain_at(size_t s) const { return chain_of_[s] != s; }

  // The values that a step needs: of the last of some that may be computed at once, those of all of them.
  std::vector<ValueId> needed_by(const PlanStep& step) {
    std::vector<ValueId> needed = step.inputs;
    const auto s = static_cast<size_t>(step_);
    for (size_t t = chain_of_[s]; t < s; ++t) {
      needed.insert(needed.end(), plan_.steps[t].inputs.begin(), plan_.steps[t].inputs.end());
    }
    return each_once(needed);
  }

  bool is_constant(ValueId id) {
    const PlanBlock& block = block_of(id);
    return block.place == Place::kInitializer || (block.place == Place::kArena && block.begin < 0);
  }

  Expected<bool> may_run_once(const PlanStep& step) {
    const graph::OpDef& def = graph::op_of(graph_.nodes()[step.node]);
    if (step.again || step.kernel->is_view || !def.platform_independent || def.runs_graphs || def.updates_state) {
      return false;
    }
    uint64_t operands = 0, results = 0;
    for (const ValueId i : each_once(step.inputs)) {
      if (!is_constant(i)) return false;
      ISOBIT_RETURN_IF_ERROR(add(operands, block_of(i).bytes));
    }
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      if (step.outputs[o] == kNoValue) continue;
      if (def.output(o).rule != graph::ElementRule::kMoved) return false;
      ISOBIT_TRY(const uint64_t bytes, bytes_of(value(step.outputs[o])));
      ISOBIT_RETURN_IF_ERROR(add(results, bytes));
    }
    return results <= operands;
  }

  // Whether the block of an operand may take an output.
  bool free_to_take(const PlanStep& step, ValueId operand) {
    const auto s = static_cast<size_t>(step_);
    if (is_in_chain_at(s) && operand != made_before(s)) return false;
    return last_use_[at(operand)] == step_ && std::ranges::count(step.inputs, operand) == 1 &&
           block_of(operand).place != Place::kInitializer &&
           readers_[static_cast<size_t>(plan_.block_of[at(operand)])] == 1;
  }

  Expected<bool> have_one_size(ValueId operand, ValueId output) {
    ISOBIT_TRY(const uint64_t have, bytes_of(value(operand)));
    ISOBIT_TRY(const uint64_t need, bytes_of(value(output)));
    return value(operand).dtype == value(output).dtype && have == need;
  }

  Expected<int> operand_to_take(const PlanStep& step, size_t o) {
    const ValueId output = step.outputs[o];
    if (step.kernel->is_view) {
      ISOBIT_TRY(const bool fits, have_one_size(step.inputs[0], output));
      if (fits) return 0;
      return unreadable(text_of("value '", value(output).name, "' is a view of '", value(step.inputs[0]).name,
                                "', which has another size or type"));
    }
    const auto [begin, end] = step.kernel->in_place.equal_range(static_cast<int>(o));
    for (auto rule = begin; rule != end; ++rule) {
      const auto i = static_cast<size_t>(rule->second);
      if (i >= step.inputs.size() || step.inputs[i] == kNoValue || !free_to_take(step, step.inputs[i])) continue;
      ISOBIT_TRY(const bool fits, have_one_size(step.inputs[i], output));
      if (fits) return rule->second;
    }
    return -1;
  }

  // Decided for all outputs before any of them has a block: none takes the block of another.
  Status place(PlanStep& step) {
    step.over.assign(step.outputs.size(), -1);
    if (step.once) {
      for (const ValueId o : step.outputs) {
        if (o != kNoValue) last_use_[at(o)] = PlanBlock::kForever;
      }
    }
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      if (step.outputs[o] == kNoValue) continue;
      ISOBIT_TRY(step.over[o], operand_to_take(step, o));
    }
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      const ValueId id = step.outputs[o];
      if (id == kNoValue) continue;
      if (step.over[o] < 0) {
        ISOBIT_RETURN_IF_ERROR(open(id, Place::kArena, step.once ? -1 : step_));
        continue;
      }
      plan_.block_of[at(id)] = plan_.block_of[at(step.inputs[static_cast<size_t>(step.over[o])])];
      if (!step.kernel->is_view) block_of(id).written_over = true;
      join(id);
    }
    for (const ValueId id : needed_by(step)) {
      if (last_use_[at(id)] == step_) leave(id);
    }
    for (const ValueId id : step.outputs) {
      if (id != kNoValue && last_use_[at(id)] < 0) leave(id);
    }
    return {};
  }

  const Graph& graph_;
  Plan plan_;
  std::vector<int64_t> last_use_;  // by value: a step, kForever for graph outputs, -1 for none
  std::vector<int> reads_;         // by value: steps that read it
  std::vector<bool> runs_again_;   // by node
  std::vector<size_t> chain_of_;   // by step: the first one of those that it may be computed with, or it
  std::vector<int> readers_;       // by block: values of it that are still to be read
  int64_t step_ = 0;
};

// Of a block and what aligns the next one.
Expected<uint64_t> room_of(const PlanBlock& block) {
  uint64_t room = std::max<uint64_t>(block.bytes, 1);
  ISOBIT_RETURN_IF_ERROR(add(room, kAlignment - 1));
  return room - room % kAlignment;
}

// One block after another as they are made, each in the smallest room that has become free and is large enough, else
// behind all others. For so many blocks that comparing each with each would take minutes.
Status lay_out_in_order(const std::vector<PlanBlock*>& wanted, Plan& plan) {
  struct Taken {
    int64_t end;
    uint64_t room, offset;
    bool operator>(const Taken& other) const { return end > other.end; }
  };
  std::vector<PlanBlock*> in_order = wanted;
  std::ranges::stable_sort(in_order, {}, [](const PlanBlock* b) { return b->begin; });
  std::priority_queue<Taken, std::vector<Taken>, std::greater<>> taken;
  std::multimap<uint64_t, uint64_t> free;  // offsets by room
  for (PlanBlock* block : in_order) {
    for (; !taken.empty() && taken.top().end < block->begin; taken.pop()) {
      free.emplace(taken.top().room, taken.top().offset);
    }
    ISOBIT_TRY(uint64_t room, room_of(*block));
    block->offset = plan.arena_bytes;
    if (const auto found = free.lower_bound(room); found != free.end()) {
      std::tie(room, block->offset) = *found;
      free.erase(found);
    } else {
      ISOBIT_RETURN_IF_ERROR(add(plan.arena_bytes, room));
    }
    taken.push({block->end, room, block->offset});
  }
  return {};
}

// The largest block first, each at the lowest offset where it meets no block that is in use at the same time. This
// comes closer to the least possible size than an allocator that sees one block after another.
// Source: Y. Pisarchyk and J. Lee, Efficient memory management for deep neural net inference, 2020, section 5.2.
Status lay_out_arena(Plan& plan) {
  std::vector<PlanBlock*> wanted;
  for (PlanBlock& b : plan.blocks) {
    if (b.place == Place::kArena) wanted.push_back(&b);
  }
  constexpr size_t kMostCompared = 1 << 15;
  if (wanted.size() > kMostCompared) return lay_out_in_order(wanted, plan);
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const PlanBlock* a, const PlanBlock* b) { return a->bytes > b->bytes; });
  std::vector<const PlanBlock*> placed;  // by offset
  for (PlanBlock* block : wanted) {
    ISOBIT_TRY(const uint64_t room, room_of(*block));
    uint64_t offset = 0;
    for (const PlanBlock* other : placed) {
      if (other->end < block->begin || other->begin > block->end) continue;
      if (other->offset >= offset && other->offset - offset >= room) break;
      const uint64_t behind = (other->offset + std::max<uint64_t>(other->bytes, 1) + kAlignment - 1);
      offset = std::max(offset, behind - behind % kAlignment);
    }
    block->offset = offset;
    uint64_t end = offset;
    ISOBIT_RETURN_IF_ERROR(add(end, room));
    plan.arena_bytes = std::max(plan.arena_bytes, end);
    const auto where = std::upper_bound(placed.begin(), placed.end(), block,
                                        [](const PlanBlock* a, const PlanBlock* b) { return a->offset < b->offset; });
    placed.insert(where, block);
  }
  return {};
}

// Graph inputs, and what is made for the caller.
Status add_what_callers_have(const Plan& plan, uint64_t& sum) {
  for (const PlanBlock& b : plan.blocks) {
    if (b.place == Place::kInput || b.place == Place::kOutput) ISOBIT_RETURN_IF_ERROR(add(sum, b.bytes));
  }
  return {};
}

}  // namespace

Expected<std::vector<PlanStep>> list_steps(const Graph& graph, const KernelTable& table) {
  std::vector<PlanStep> steps;
  steps.reserve(graph.nodes().size());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const auto kernel = table.find(node.op);
    if (kernel == table.end()) return unreadable(text_of("operator '", node.op, "' has no kernel"));
    steps.push_back({n, &kernel->second, node.inputs, node.outputs, {}, false});
  }
  return steps;
}

Expected<Plan> place_values(const Graph& graph, StepList list) {
  ISOBIT_TRY(Plan plan, BlockAssignment(graph, std::move(list)).run());
  ISOBIT_RETURN_IF_ERROR(lay_out_arena(plan));
  plan.peak_bytes = plan.arena_bytes;
  ISOBIT_RETURN_IF_ERROR(add_what_callers_have(plan, plan.peak_bytes));
  return plan;
}

Expected<uint64_t> least_peak_bytes(const Graph& graph, StepList list) {
  ISOBIT_TRY(const Plan plan, BlockAssignment(graph, std::move(list)).run());
  std::vector<uint64_t> begun(plan.steps.size() + 1, 0), ended(plan.steps.size() + 1, 0);
  for (const PlanBlock& b : plan.blocks) {
    if (b.place != Place::kArena) continue;
    ISOBIT_RETURN_IF_ERROR(add(begun[static_cast<size_t>(std::max<int64_t>(b.begin, 0))], b.bytes));
    if (b.end == PlanBlock::kForever) continue;
    ended[static_cast<size_t>(std::max(b.begin, b.end)) + 1] += b.bytes;
  }
  uint64_t used = 0, most = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    ISOBIT_RETURN_IF_ERROR(add(used, begun[s]));
    used -= ended[s];
    most = std::max(most, used);
  }
  ISOBIT_RETURN_IF_ERROR(add_what_callers_have(plan, most));
  return most;
}

Expected<Plan> make_plan(const Graph& graph, const KernelTable& table, const Recomputation& recomputation) {
  ISOBIT_TRY(std::vector<PlanStep> steps, list_steps(graph, table));
  StepList list{std::move(steps)};
  if (recomputation.what != Recompute::kNothing) {
    ISOBIT_TRY(list, with_recomputation(graph, std::move(list), recomputation));
  }
  return place_values(graph, std::move(list));
}

}  // namespace isobit::runtime
