#include <algorithm>

#include "isobit/base/large_pages.h"
#include "isobit/base/text.h"
#include "isobit/runtime/plan.h"
#include "isobit/runtime/prepared_run.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using Feed = Executor::Feed;
using Place = PlanBlock::Place;

// A tensor that was never made says that it is a scalar, but has no elements.
bool is_a(const graph::Value& value, const Tensor& tensor) {
  return tensor.has_type(value.dtype, value.dims) && tensor.elements() == tensor.shape().elements();
}

bool same_type(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.shape() == b.shape(); }
bool same_memory(const Tensor& a, const Tensor& b) {
  return a.defined() && a.on_host() && b.on_host() && a.raw() == b.raw();
}

// A graph of known shapes, ready to run: its plan, its calls and its memory, all of it kept from run to run.
class PlannedRun final : public PreparedRun {
 public:
  PlannedRun(const Graph& graph, std::optional<Graph> own, const Surroundings& around)
      : own_(std::move(own)),
        graph_(own_ ? *own_ : graph),
        around_(around),
        ctx_{kernels::Isa::kReference, nullptr},
        kept_(around.ledger) {}

  Status plan() {
    // Before any kernel is bound: some have tables as long as their tensors.
    if (around_.ledger.limits_memory()) ISOBIT_RETURN_IF_ERROR(check_tensors(graph_, around_.ledger));
    const Recomputation& recomputation = around_.ledger.limits().recomputation;
    ISOBIT_TRY(plan_, make_plan(graph_, around_.table, around_.whole ? recomputation : Recomputation{}));
    return build();
  }

  std::optional<uint64_t> peak_bytes() const override { return plan_.peak_bytes; }

  Status run(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
             const RunOptions& options) override {
    ISOBIT_CHECK(outputs.size() == graph_.outputs().size());
    ctx_ = ctx;
    bool handed_out = false;
    const AtEnd released([&] { handed_out ? release(feeds) : give_back(feeds, outputs); });
    ISOBIT_RETURN_IF_ERROR(run_checked(feeds, outputs, options));
    handed_out = true;
    // Another graph of the run comes next, and finds this memory taken.
    if (!around_.whole && !arena_is_counted_) {
      ISOBIT_RETURN_IF_ERROR(kept_.take(nullptr, plan_.arena_bytes));
      arena_is_counted_ = true;
    }
    return {};
  }

  void release_memory() override {
    if (!allocated_) return;
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (size_t o = 0; o < plan_.steps[s].outputs.size(); ++o) {
        if (place_of(plan_.steps[s].outputs[o]) == Place::kArena) steps_[s].call.outputs[o] = Tensor();
      }
    }
    arena_ = Tensor();
    allocated_ = false;
    if (arena_is_counted_) kept_.give_back(plan_.arena_bytes);
    arena_is_counted_ = false;
  }

 private:
  struct Step {
    KernelCall call;
    RunKernel run;     // of a node that runs again: none, it is that of the first time
    size_t first = 0;  // the step that the node runs in for the first time
  };
  // What is made for the caller: a block, and the outputs that have it.
  struct Made {
    Tensor tensor;  // of the type of the first of them
    std::vector<size_t> outputs;
    bool from_place = false;  // in this run: the memory that stood in the place of the first
  };
  // A value with a block that every run brings anew.
  struct Lent {
    Tensor* value;
    const Tensor* owner;
  };

  Status build();
  Status add_step(const PlanStep& planned, std::vector<const Tensor*>& tensors, std::vector<size_t>& first_of);
  const graph::Value& type_of(ValueId id) const { return graph_.value(original(graph_, plan_.copies, id)); }
  Place place_of(ValueId id) const {  // of an absent one: none that is ever made
    if (id == kNoValue) return Place::kInitializer;
    return plan_.blocks[static_cast<size_t>(plan_.block_of[static_cast<size_t>(id)])].place;
  }
  Status run_checked(std::span<Feed> feeds, std::span<Tensor> outputs, const RunOptions& options);
  void prefer_large_pages(const Tensor& tensor) const;
  void allocate_arena();
  const Tensor* owner_of(int block) const;
  Status take(std::span<Feed> feeds, uint64_t& copied);
  static bool only_places_hold_it(const Made& made, std::span<const Tensor> outputs);
  void hold(std::span<Tensor> outputs);
  Status compute(const RunOptions& options);
  bool computes_chains(const RunOptions& options) const;
  Status compute_node(size_t s, const RunOptions& options);
  Status compute_chain(size_t s, Observer* observer);
  void hand_out(std::span<Tensor> outputs);
  void release(std::span<Feed> feeds);
  void give_back(std::span<Feed> feeds, std::span<Tensor> outputs);
  void return_feeds(std::span<Feed> feeds, bool kept_by_outputs);

  const std::optional<Graph> own_;
  const Graph& graph_;
  const Surroundings around_;
  Plan plan_;
  kernels::KernelContext ctx_;  // of the run in progress: the calls refer to it
  std::vector<Step> steps_;
  std::vector<Tensor> inputs_;  // by graph input; undefined between runs
  std::vector<int> input_of_;   // by value: its place among the graph inputs, -1: none
  std::vector<Made> made_;
  std::vector<int> made_of_;  // by block; -1: none
  std::vector<Lent> lent_;
  std::vector<int> outputs_of_;  // by block: how many graph outputs have it
  Tensor arena_;
  bool allocated_ = false;
  bool once_is_made_ = false;  // what steps make that run once, as their kernels made it
  Holding kept_;               // of a part: the arena between runs
  bool arena_is_counted_ = false;
};

Status PlannedRun::build() {
  inputs_.resize(graph_.inputs().size());
  input_of_.assign(static_cast<size_t>(graph_.value_count()), -1);
  std::vector<const Tensor*> tensors(plan_.block_of.size(), nullptr);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    input_of_[static_cast<size_t>(graph_.inputs()[i])] = static_cast<int>(i);
    tensors[static_cast<size_t>(graph_.inputs()[i])] = &inputs_[i];
  }
  for (const graph::Initializer& i : graph_.initializers()) tensors[static_cast<size_t>(i.value)] = &i.tensor;
  made_of_.assign(plan_.blocks.size(), -1);
  outputs_of_.assign(plan_.blocks.size(), 0);
  made_.reserve(plan_.blocks.size());
  for (size_t o = 0; o < graph_.outputs().size(); ++o) {
    const auto block = static_cast<size_t>(plan_.block_of[static_cast<size_t>(graph_.outputs()[o])]);
    ++outputs_of_[block];
    if (plan_.blocks[block].place != Place::kOutput) continue;
    if (made_of_[block] < 0) {
      made_of_[block] = static_cast<int>(made_.size());
      made_.emplace_back();
    }
    made_[static_cast<size_t>(made_of_[block])].outputs.push_back(o);
  }

  steps_.reserve(plan_.steps.size());  // calls refer to outputs of others
  std::vector<size_t> first_of(graph_.nodes().size(), 0);
  for (const PlanStep& planned : plan_.steps) ISOBIT_RETURN_IF_ERROR(add_step(planned, tensors, first_of));
  return {};
}

// tensors: by value, where it lies; first_of: by node, its first step.
Status PlannedRun::add_step(const PlanStep& planned, std::vector<const Tensor*>& tensors,
                            std::vector<size_t>& first_of) {
  const Node& node = graph_.nodes()[planned.node];
  RunKernel run;
  if (!planned.again) {
    first_of[planned.node] = steps_.size();
    ISOBIT_RETURN_IF_ERROR(within_memory(around_.ledger, node, [&]() -> Status {
      if (!planned.kernel->is_view) run = bound(*planned.kernel, {graph_, node, &around_.table, &around_.ledger});
      return {};
    }));
  }
  steps_.push_back({KernelCall{ctx_, node, {}, std::vector<Tensor>(planned.outputs.size())}, std::move(run),
                    first_of[planned.node]});
  KernelCall& call = steps_.back().call;
  for (const ValueId i : planned.inputs) {
    call.inputs.push_back(i == kNoValue ? nullptr : tensors[static_cast<size_t>(i)]);
  }
  for (size_t o = 0; o < planned.outputs.size(); ++o) {
    const ValueId id = planned.outputs[o];
    if (id == kNoValue) continue;
    tensors[static_cast<size_t>(id)] = &call.outputs[o];
    const int block = plan_.block_of[static_cast<size_t>(id)];
    const PlanBlock& b = plan_.blocks[static_cast<size_t>(block)];
    if (b.place == Place::kInitializer) {
      call.outputs[o] = graph_.initializer(b.first_value)->reshaped(type_of(id).shape());
    } else if (b.place != Place::kArena) {
      lent_.push_back({&call.outputs[o], owner_of(block)});
    }
  }
  return {};
}

const Tensor* PlannedRun::owner_of(int block) const {
  const PlanBlock& b = plan_.blocks[static_cast<size_t>(block)];
  if (b.place == Place::kInput) return &inputs_[static_cast<size_t>(input_of_[static_cast<size_t>(b.first_value)])];
  return &made_[static_cast<size_t>(made_of_[static_cast<size_t>(block)])].tensor;
}

Status PlannedRun::run_checked(std::span<Feed> feeds, std::span<Tensor> outputs, const RunOptions& options) {
  uint64_t copied = 0;
  ISOBIT_RETURN_IF_ERROR(take(feeds, copied));
  Holding holding(around_.ledger);
  if (const Status taken = holding.take(nullptr, plan_.peak_bytes + copied - kept_.bytes()); !taken) {
    return unreadable(text_of(taken.error().message, "; its largest value: ", largest_value(graph_, around_.ledger)));
  }
  hold(outputs);
  ISOBIT_RETURN_IF_ERROR(compute(options));
  hand_out(outputs);
  if (options.memory != nullptr) options.memory->peak_bytes = around_.ledger.peak_bytes();
  return {};
}

// Float64 kernels of libraries read many rows of large matrices at a time, each in a page of its own: a tenth of their
// time where pages are small. Ours are as fast or faster with small ones (docs/decisions/0053).
void PlannedRun::prefer_large_pages(const Tensor& tensor) const {
  if (ctx_.products_f64 != nullptr) isobit::prefer_large_pages(tensor.raw(), tensor.bytes());
}

// Of the first run, so that a plan alone costs no memory.
void PlannedRun::allocate_arena() {
  arena_ = Tensor(DType::kUint8, {static_cast<int64_t>(plan_.arena_bytes)});
  prefer_large_pages(arena_);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const PlanStep& planned = plan_.steps[s];
    for (size_t o = 0; o < planned.outputs.size(); ++o) {
      const ValueId id = planned.outputs[o];
      if (id == kNoValue) continue;
      const PlanBlock& b = plan_.blocks[static_cast<size_t>(plan_.block_of[static_cast<size_t>(id)])];
      const graph::Value& type = type_of(id);
      Tensor& output = steps_[s].call.outputs[o];
      if (b.place == Place::kArena) {
        output = arena_.part(b.offset, type.dtype, type.shape());
      } else if (b.place != Place::kInitializer) {
        output = Tensor::without_storage(type.dtype, type.shape());
      }
    }
  }
  allocated_ = true;
  once_is_made_ = false;
}

Status PlannedRun::take(std::span<Feed> feeds, uint64_t& copied) {
  size_t taken = 0;
  for (auto& [id, tensor] : feeds) {
    const int place = id < 0 || id >= graph_.value_count() ? -1 : input_of_[static_cast<size_t>(id)];
    if (place < 0) return unreadable(text_of("a feed is for value ", id, ", which is no input of the graph"));
    const graph::Value& value = graph_.value(id);
    Tensor& input = inputs_[static_cast<size_t>(place)];
    if (input.defined()) return unreadable(text_of("input '", value.name, "' is fed twice"));
    ISOBIT_RETURN_IF_ERROR(check_feed(value, tensor));
    const auto block = static_cast<size_t>(plan_.block_of[static_cast<size_t>(id)]);
    if (plan_.blocks[block].written_over && !tensor.sole_owner()) {
      input = tensor.clone();
      copied += tensor.bytes();
    } else {
      input = std::move(tensor);
    }
    ++taken;
  }
  if (taken == inputs_.size()) return {};
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].defined()) {
      return unreadable(text_of("input '", graph_.value(graph_.inputs()[i]).name, "' is not fed"));
    }
  }
  return {};
}

// Whether nobody holds the memory in the place of the first output but the places of the others.
bool PlannedRun::only_places_hold_it(const Made& made, std::span<const Tensor> outputs) {
  const Tensor& first = outputs[made.outputs[0]];
  return first.owners() ==
         std::ranges::count_if(made.outputs, [&](size_t o) { return same_memory(outputs[o], first); });
}

// Memory for every value before the first of them is computed.
void PlannedRun::hold(std::span<Tensor> outputs) {
  if (!allocated_) allocate_arena();
  for (Made& made : made_) {
    Tensor& place = outputs[made.outputs[0]];
    const graph::Value& value = graph_.value(graph_.outputs()[made.outputs[0]]);
    if (!is_a(value, made.tensor)) {
      made.tensor = Tensor::without_storage(value.dtype, value.shape());
    }
    if (place.defined() && place.on_host() && same_type(place, made.tensor) && only_places_hold_it(made, outputs)) {
      made.tensor.share_storage(place);
      for (const size_t o : made.outputs) {
        if (same_memory(outputs[o], made.tensor)) outputs[o].drop_storage();
      }
      made.from_place = true;
    } else {
      made.tensor = Tensor(value.dtype, value.shape());
      prefer_large_pages(made.tensor);
    }
  }
  for (const Lent& l : lent_) l.value->share_storage(*l.owner);
}

// An arithmetic or a library with inner products of its own computes them, and nobody looks at what is between nodes.
bool PlannedRun::computes_chains(const RunOptions& options) const {
  return ctx_.products_f32 == nullptr && ctx_.products_f64 == nullptr && options.stage == nullptr &&
         (options.observer == nullptr || !(options.observer->wants_values() || options.observer->wants_statistics()));
}

Status PlannedRun::compute_node(size_t s, const RunOptions& options) {
  Step& step = steps_[s];
  const PlanStep& planned = plan_.steps[s];
  const NodePlace at{graph_, planned.node, planned.kernel->is_view, graph_, step.call.node};
  const auto compute = [&](KernelCall& call) {
    if (planned.kernel->is_view) return Status{};
    if (planned.kernel->finishes) ctx_.finisher = finisher_for(call, options);
    const AtEnd no_longer([&] { ctx_.finisher = nullptr; });
    return within_memory(around_.ledger, call.node, [&] { return steps_[step.first].run(call); });
  };
  return planned.again ? run_node_again(at, step.call, options, compute) : run_node(at, step.call, options, compute);
}

// The chain from step s on at once; one step after the other where there is no memory for what that lays out.
Status PlannedRun::compute_chain(size_t s, Observer* observer) {
  const PlanStep& planned = plan_.steps[s];
  KernelCall* calls[kMostInChain];
  const Node* nodes[kMostInChain];
  for (size_t c = 0; c < planned.in_chain; ++c) nodes[c] = &(calls[c] = &steps_[s + c].call)->node;
  const auto at_once = [&] { return planned.at_once({calls, planned.in_chain}); };
  const auto apart = [&] {
    Status done;
    for (size_t c = 0; done && c < planned.in_chain; ++c) done = steps_[s + c].run(*calls[c]);
    return done;
  };
  const auto done = within_memory(around_.ledger, *nodes[0], [&] { return where_memory_allows(at_once, apart); });
  ISOBIT_RETURN_IF_ERROR(in_environment(ctx_, done));
  if (observer == nullptr) return {};
  const KernelCall &first = *calls[0], &last = *calls[planned.in_chain - 1];
  const NodeRun seen{
      graph_, planned.node, first.node, ctx_, first.inputs, last.outputs, {}, false, {nodes + 1, planned.in_chain - 1}};
  ISOBIT_RETURN_IF_ERROR(observer->before_stage(seen));
  return observer->after_stage(seen);
}

Status PlannedRun::compute(const RunOptions& options) {
  if (options.observer != nullptr) options.observer->begin_run(graph_);
  if (options.stage != nullptr) options.stage->begin_run(graph_);
  const bool seen = (options.observer != nullptr && options.observer->wants_constants()) || options.stage != nullptr;
  const bool chains = computes_chains(options);
  once_is_made_ = once_is_made_ && options.stage == nullptr;  // a stage may change it
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (plan_.steps[s].once && once_is_made_ && !seen) continue;
    if (chains && plan_.steps[s].at_once) {
      ISOBIT_RETURN_IF_ERROR(compute_chain(s, options.observer));
      s += plan_.steps[s].in_chain - 1;
    } else {
      ISOBIT_RETURN_IF_ERROR(compute_node(s, options));
    }
  }
  once_is_made_ = options.stage == nullptr;
  return around_.whole ? check_fp_environment(*ctx_.pool) : Status{};
}

void PlannedRun::hand_out(std::span<Tensor> outputs) {
  for (size_t o = 0; o < outputs.size(); ++o) {
    const ValueId id = graph_.outputs()[o];
    const int block = plan_.block_of[static_cast<size_t>(id)];
    const PlanBlock& b = plan_.blocks[static_cast<size_t>(block)];
    const graph::Value& value = graph_.value(id);
    if (b.place == Place::kInitializer) {
      outputs[o] = graph_.initializer(b.first_value)->reshaped(value.shape());
      continue;
    }
    const auto input = b.place == Place::kInput ? input_of_[static_cast<size_t>(b.first_value)] : -1;
    Tensor& owner = input >= 0 ? inputs_[static_cast<size_t>(input)]
                               : made_[static_cast<size_t>(made_of_[static_cast<size_t>(block)])].tensor;
    if (input >= 0 && outputs_of_[static_cast<size_t>(block)] == 1 && is_a(value, owner)) {
      outputs[o] = std::move(owner);  // the feed itself goes on, its shape is not copied
      continue;
    }
    if (!is_a(value, outputs[o])) outputs[o] = Tensor::without_storage(value.dtype, value.shape());
    outputs[o].share_storage(owner);
  }
}

// Nothing of a caller's is held between runs.
void PlannedRun::release(std::span<Feed> feeds) {
  for (const Lent& l : lent_) l.value->drop_storage();
  for (Made& made : made_) {
    made.tensor.drop_storage();
    made.from_place = false;
  }
  return_feeds(feeds, true);
}

// The same after an error: no output has anything new.
void PlannedRun::give_back(std::span<Feed> feeds, std::span<Tensor> outputs) {
  return_feeds(feeds, false);
  for (const Made& made : made_) {
    for (const size_t o : made.outputs) {
      Tensor& place = outputs[o];
      if (made.from_place && !place.defined() && place.bytes() == made.tensor.bytes()) {
        place.share_storage(made.tensor);
      }
    }
  }
  release({});
}

void PlannedRun::return_feeds(std::span<Feed> feeds, bool kept_by_outputs) {
  for (auto& [id, tensor] : feeds) {
    const int place = id < 0 || id >= graph_.value_count() ? -1 : input_of_[static_cast<size_t>(id)];
    if (place < 0) continue;
    Tensor& input = inputs_[static_cast<size_t>(place)];
    const auto block = static_cast<size_t>(plan_.block_of[static_cast<size_t>(id)]);
    const bool kept = kept_by_outputs && outputs_of_[block] > 0;
    if (!tensor.defined() && input.defined() && !kept) tensor = std::move(input);
  }
  for (Tensor& input : inputs_) input = Tensor();
}

}  // namespace

Expected<std::unique_ptr<PreparedRun>> make_planned_run(const Graph& graph, std::optional<Graph> own,
                                                        const Surroundings& around) {
  auto run = std::make_unique<PlannedRun>(graph, std::move(own), around);
  ISOBIT_RETURN_IF_ERROR(run->plan());
  return std::unique_ptr<PreparedRun>(std::move(run));
}

}  // namespace isobit::runtime
