#include "isobit/runtime/executor.h"

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/plan.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using Place = PlanBlock::Place;

namespace {

// A tensor that was never made says that it is a scalar, but has no elements.
bool is_a(const graph::Value& value, const Tensor& tensor) {
  return tensor.has_type(value.dtype, value.dims) && tensor.elements() == tensor.shape().elements();
}

bool same_type(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.shape() == b.shape(); }
bool same_memory(const Tensor& a, const Tensor& b) {
  return a.defined() && a.on_host() && b.on_host() && a.raw() == b.raw();
}

constexpr const char* kNoMemory = "this machine has not enough memory; 'isobit job check' says how much a job needs";

// What f returns; running out of memory in it is an error.
template <class F>
Status or_no_memory(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return unavailable(kNoMemory);
  } catch (const std::length_error&) {
    return unavailable(kNoMemory);
  }
}

template <class F>
class AtEnd {
 public:
  explicit AtEnd(F f) : f_(std::move(f)) {}
  ~AtEnd() { f_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  F f_;
};

}  // namespace

// A graph of known shapes, ready to run: its plan, its calls and its memory, all of it kept from run to run.
class Executor::Prepared {
 public:
  static Expected<std::unique_ptr<Prepared>> make(const Graph& graph, std::optional<Graph> own,
                                                  const KernelTable& table) {
    std::unique_ptr<Prepared> p(new Prepared(graph, std::move(own)));
    ISOBIT_TRY(p->plan_, make_plan(p->graph_, table));
    p->build();
    return p;
  }

  uint64_t peak_bytes() const { return plan_.peak_bytes; }

  Status run(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
             const RunOptions& options) {
    ISOBIT_CHECK(outputs.size() == graph_.outputs().size());
    ctx_ = ctx;
    bool handed_out = false;
    const AtEnd released([&] { handed_out ? release(feeds) : give_back(feeds, outputs); });
    ISOBIT_RETURN_IF_ERROR(run_checked(feeds, outputs, options));
    handed_out = true;
    return {};
  }

 private:
  struct Step {
    KernelCall call;
    RunKernel run;
    bool is_view = false;
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

  Prepared(const Graph& graph, std::optional<Graph> own)
      : own_(std::move(own)), graph_(own_ ? *own_ : graph), ctx_{kernels::Isa::kReference, nullptr} {}

  void build();
  Status run_checked(std::span<Feed> feeds, std::span<Tensor> outputs, const RunOptions& options);
  void allocate_arena();
  const Tensor* owner_of(int block) const;
  Status take(std::span<Feed> feeds, uint64_t& copied);
  static bool only_places_hold_it(const Made& made, std::span<const Tensor> outputs);
  void hold(std::span<Tensor> outputs);
  Status compute(const RunOptions& options);
  Status compute_node(Step& step, size_t n, const RunOptions& options);
  void hand_out(std::span<Tensor> outputs);
  void release(std::span<Feed> feeds);
  void give_back(std::span<Feed> feeds, std::span<Tensor> outputs);
  void return_feeds(std::span<Feed> feeds, bool kept_by_outputs);

  const std::optional<Graph> own_;
  const Graph& graph_;
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
};

void Executor::Prepared::build() {
  const auto values = static_cast<size_t>(graph_.value_count());
  inputs_.resize(graph_.inputs().size());
  input_of_.assign(values, -1);
  std::vector<const Tensor*> tensors(values, nullptr);
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

  steps_.reserve(plan_.steps.size());
  for (const PlanStep& planned : plan_.steps) {
    const Node& node = graph_.nodes()[planned.node];
    steps_.push_back({KernelCall{ctx_, node, {}, std::vector<Tensor>(planned.outputs.size())},
                      planned.kernel->is_view ? RunKernel{} : bound(*planned.kernel, {graph_, node}),
                      planned.kernel->is_view});
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
        call.outputs[o] = graph_.initializer(b.first_value)->reshaped(graph_.value(id).shape());
      } else if (b.place != Place::kArena) {
        lent_.push_back({&call.outputs[o], owner_of(block)});
      }
    }
  }
}

const Tensor* Executor::Prepared::owner_of(int block) const {
  const PlanBlock& b = plan_.blocks[static_cast<size_t>(block)];
  if (b.place == Place::kInput) return &inputs_[static_cast<size_t>(input_of_[static_cast<size_t>(b.first_value)])];
  return &made_[static_cast<size_t>(made_of_[static_cast<size_t>(block)])].tensor;
}

Status Executor::Prepared::run_checked(std::span<Feed> feeds, std::span<Tensor> outputs, const RunOptions& options) {
  uint64_t copied = 0;
  ISOBIT_RETURN_IF_ERROR(take(feeds, copied));
  hold(outputs);
  ISOBIT_RETURN_IF_ERROR(compute(options));
  hand_out(outputs);
  if (options.memory != nullptr) options.memory->peak_bytes = plan_.peak_bytes + copied;
  return {};
}

// Of the first run, so that a plan alone costs no memory.
void Executor::Prepared::allocate_arena() {
  arena_ = Tensor(DType::kUint8, {static_cast<int64_t>(plan_.arena_bytes)});
  for (size_t s = 0; s < steps_.size(); ++s) {
    const PlanStep& planned = plan_.steps[s];
    for (size_t o = 0; o < planned.outputs.size(); ++o) {
      const ValueId id = planned.outputs[o];
      if (id == kNoValue) continue;
      const PlanBlock& b = plan_.blocks[static_cast<size_t>(plan_.block_of[static_cast<size_t>(id)])];
      const graph::Value& value = graph_.value(id);
      Tensor& output = steps_[s].call.outputs[o];
      if (b.place == Place::kArena) {
        output = arena_.part(b.offset, value.dtype, value.shape());
      } else if (b.place != Place::kInitializer) {
        output = Tensor::without_storage(value.dtype, value.shape());
      }
    }
  }
  allocated_ = true;
}

Status Executor::Prepared::take(std::span<Feed> feeds, uint64_t& copied) {
  size_t taken = 0;
  for (auto& [id, tensor] : feeds) {
    const int place = id < 0 || id >= graph_.value_count() ? -1 : input_of_[static_cast<size_t>(id)];
    if (place < 0) return unreadable(text_of("a feed is for value ", id, ", which is no input of the graph"));
    const graph::Value& value = graph_.value(id);
    Tensor& input = inputs_[static_cast<size_t>(place)];
    if (input.defined()) return unreadable(text_of("input '", value.name, "' is fed twice"));
    if (!tensor.defined() || tensor.dtype() != value.dtype || tensor.shape().dims() != value.dims) {
      return unreadable(text_of(
          "input '", value.name, "': found ",
          tensor.defined() ? text_of(name_of(tensor.dtype()), " ", tensor.shape().text()) : "an undefined tensor",
          ", expected ", name_of(value.dtype), " ", Shape(value.dims).text()));
    }
    if (!tensor.on_host()) {
      return unreadable(text_of("input '", value.name, "' lies on device '", tensor.device().name(),
                                "', expected the host; copy it there"));
    }
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
bool Executor::Prepared::only_places_hold_it(const Made& made, std::span<const Tensor> outputs) {
  const Tensor& first = outputs[made.outputs[0]];
  return first.owners() ==
         std::ranges::count_if(made.outputs, [&](size_t o) { return same_memory(outputs[o], first); });
}

// Memory for every value before the first of them is computed.
void Executor::Prepared::hold(std::span<Tensor> outputs) {
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
    }
  }
  for (const Lent& l : lent_) l.value->share_storage(*l.owner);
}

Status Executor::Prepared::compute_node(Step& step, size_t n, const RunOptions& options) {
  Observer* const observer = options.observer;
  Stage* const stage = options.stage;
  KernelCall& call = step.call;
  const AtEnd held_no_longer([&] { call.statistics.clear(); });
  if (!step.is_view) {
    const bool statistics_wanted = observer != nullptr && observer->wants_statistics();
    const std::vector<graph::Statistic> statistics =
        statistics_wanted ? graph::statistics_of(graph_, call.node) : std::vector<graph::Statistic>{};
    for (const graph::Statistic& s : statistics) call.statistics.emplace_back(call.in(0).dtype(), Shape(s.dims));
    if (Status done = step.run(call); !done) {
      // What a kernel finds wrong in a changed environment is that environment's.
      ISOBIT_RETURN_IF_ERROR(check_fp_environment(*ctx_.pool));
      return done;
    }
    for (size_t s = 0; s < statistics.size(); ++s) {
      if (statistics[s].output >= 0) call.statistics[s] = call.out(statistics[s].output);
    }
    if (observer != nullptr) {
      ISOBIT_RETURN_IF_ERROR(observer->before_stage(
          {graph_, n, call.node, ctx_, call.inputs, call.outputs, call.statistics, step.is_view}));
    }
    if (stage != nullptr) ISOBIT_RETURN_IF_ERROR(stage->apply(n, call));
  }
  if (observer == nullptr) return {};
  return observer->after_stage({graph_, n, call.node, ctx_, call.inputs, call.outputs, {}, step.is_view});
}

Status Executor::Prepared::compute(const RunOptions& options) {
  if (options.stage != nullptr) options.stage->begin_run(graph_);
  for (size_t s = 0; s < steps_.size(); ++s) {
    ISOBIT_RETURN_IF_ERROR(compute_node(steps_[s], plan_.steps[s].node, options));
  }
  return check_fp_environment(*ctx_.pool);
}

void Executor::Prepared::hand_out(std::span<Tensor> outputs) {
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
void Executor::Prepared::release(std::span<Feed> feeds) {
  for (const Lent& l : lent_) l.value->drop_storage();
  for (Made& made : made_) {
    made.tensor.drop_storage();
    made.from_place = false;
  }
  return_feeds(feeds, true);
}

// The same after an error: no output has anything new.
void Executor::Prepared::give_back(std::span<Feed> feeds, std::span<Tensor> outputs) {
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

void Executor::Prepared::return_feeds(std::span<Feed> feeds, bool kept_by_outputs) {
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

Executor::Executor(const Graph& graph, const KernelTable& table)
    : graph_(graph), table_(table), is_static_(is_static(graph)) {
  if (is_static_) unusable_ = or_no_memory([&] { return plan_whole(); });
}

Status Executor::plan_whole() {
  ISOBIT_TRY(prepared_, Prepared::make(graph_, std::nullopt, table_));
  return {};
}

Executor::~Executor() = default;

Expected<uint64_t> Executor::planned_peak_bytes() const {
  ISOBIT_RETURN_IF_ERROR(unusable_);
  if (!is_static_) return unreadable("the shapes of this graph are not known before it runs");
  return prepared_->peak_bytes();
}

// For a graph of known shapes nothing is left to do.
Status Executor::prepare_for(std::span<const Feed> feeds) {
  ISOBIT_RETURN_IF_ERROR(unusable_);
  if (is_static_) return {};
  std::vector<Shape> shapes;
  for (const ValueId input : graph_.inputs()) {
    const auto feed = std::ranges::find(feeds, input, [](const Feed& f) { return f.first; });
    if (feed == feeds.end()) return unreadable(text_of("input '", graph_.value(input).name, "' is not fed"));
    shapes.push_back(feed->second.shape());
  }
  if (prepared_ != nullptr && shapes == shapes_) return {};
  prepared_.reset();  // its memory, before there is new
  ISOBIT_TRY(Graph own, specialise(graph_, shapes));
  ISOBIT_TRY(prepared_, Prepared::make(graph_, std::move(own), table_));
  shapes_ = std::move(shapes);
  return {};
}

Status Executor::run_into(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
                          RunOptions options) {
  if (running_.exchange(1) != 0)
    return usage_error("this graph is running already; an executor runs it once at a time");
  const AtEnd run_is_over([&] { running_ = 0; });
  return or_no_memory([&] { return run_alone(ctx, feeds, outputs, options); });
}

Status Executor::run_alone(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
                           const RunOptions& options) {
  ISOBIT_RETURN_IF_ERROR(check_fp_environment(*ctx.pool));
  ISOBIT_RETURN_IF_ERROR(prepare_for(feeds));
  return prepared_->run(ctx, feeds, outputs, options);
}

Expected<std::vector<Tensor>> Executor::run(const kernels::KernelContext& ctx, Feeds feeds, RunOptions options) {
  std::vector<Tensor> outputs(graph_.outputs().size());
  ISOBIT_RETURN_IF_ERROR(run_into(ctx, feeds, outputs, options));
  return outputs;
}

}  // namespace isobit::runtime
