#include "isobit/runtime/executor.h"

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "isobit/base/text.h"
#include "isobit/runtime/prepared_run.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {

using graph::Graph;
using graph::ValueId;

namespace {

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

// Of the constants that a graph has since it was specialised.
uint64_t computed_bytes(const Graph& graph, const Graph& specialised) {
  const std::unordered_set<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  uint64_t bytes = 0;
  for (const graph::Initializer& i : specialised.initializers()) {
    const bool given = graph.initializer(i.value) != nullptr || inputs.contains(i.value);
    if (!given) bytes += i.tensor.bytes();
  }
  return bytes;
}

bool inputs_are_static(const Graph& graph) {
  return std::ranges::all_of(graph.inputs(), [&](ValueId i) { return graph.value(i).is_static(); });
}

}  // namespace

Status check_feed(const graph::Value& input, const Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_type(input.dtype, input.dims)) {
    return unreadable(
        text_of("input '", input.name, "': found ",
                tensor.defined() ? text_of(name_of(tensor.dtype()), " ", tensor.shape().text()) : "an undefined tensor",
                ", expected ", name_of(input.dtype), " ", Shape(input.dims).text()));
  }
  if (tensor.on_host()) return {};
  return unreadable(text_of("input '", input.name, "' lies on device '", tensor.device().name(),
                            "', expected the host; copy it there"));
}

Executor::Executor(const Graph& graph, const KernelTable& table, const Limits& limits)
    : graph_(graph),
      table_(table),
      own_ledger_(std::make_unique<Ledger>(limits)),
      ledger_(*own_ledger_),
      known_before_runs_(inputs_are_static(graph)) {
  if (known_before_runs_) unusable_ = or_no_memory([&] { return prepare_before_runs(); });
}

Executor::Executor(const Graph& graph, const KernelTable& table, Part part)
    : graph_(graph),
      table_(table),
      ledger_(*part.ledger),
      constants_(std::move(part.constants)),
      known_before_runs_(false) {}

Executor::~Executor() = default;

Status Executor::prepare_before_runs() {
  if (is_static(graph_)) return prepare(std::nullopt);
  std::vector<Shape> shapes;
  for (const ValueId i : graph_.inputs()) shapes.push_back(graph_.value(i).shape());
  ISOBIT_TRY(Graph own, specialise(graph_, shapes, table_));
  return prepare(std::move(own));
}

Status Executor::prepare(std::optional<Graph> own) {
  const bool planned = is_static(own ? *own : graph_);
  const Surroundings around{table_, ledger_, own_ledger_ != nullptr};
  if (!planned && around.whole && ledger_.limits().recomputation.what != Recompute::kNothing) {
    return unreadable(
        "the shapes of this graph follow from data, so that nobody can say beforehand what to compute again; do "
        "without");
  }
  ISOBIT_TRY(prepared_, planned ? make_planned_run(graph_, std::move(own), around)
                                : make_stepwise_run(graph_, std::move(own), around));
  return {};
}

Expected<uint64_t> Executor::planned_peak_bytes() const {
  ISOBIT_RETURN_IF_ERROR(unusable_);
  const auto known = known_before_runs_ ? prepared_->peak_bytes() : std::nullopt;
  if (!known) return unreadable("the shapes of this graph are not known before it runs");
  return *known;
}

// For inputs of known shapes nothing is left to do.
Status Executor::prepare_for(std::span<const Feed> feeds) {
  ISOBIT_RETURN_IF_ERROR(unusable_);
  if (known_before_runs_) return {};
  std::unordered_map<ValueId, const Tensor*> fed;
  for (const auto& [id, tensor] : feeds) fed.emplace(id, &tensor);
  std::vector<InputType> types;
  for (const ValueId input : graph_.inputs()) {
    const graph::Value& value = graph_.value(input);
    const auto feed = fed.find(input);
    if (const Tensor* constant = constant_of(types.size())) {
      types.emplace_back(constant->dtype(), constant->shape());
    } else if (feed != fed.end()) {
      types.emplace_back(own_ledger_ ? value.dtype : feed->second->dtype(), feed->second->shape());
    } else {
      return unreadable(text_of("input '", value.name, "' is not fed"));
    }
  }
  if (prepared_ != nullptr && types == types_) return {};
  prepared_.reset();  // its memory, before there is new
  computed_.reset();
  std::vector<GivenInput> given;
  for (const auto& [dtype, shape] : types) {
    const size_t i = given.size();
    if (own_ledger_) ISOBIT_RETURN_IF_ERROR(check_shape(graph_.value(graph_.inputs()[i]), shape));
    given.push_back({dtype, shape, constant_of(i)});
  }
  ISOBIT_TRY(Graph own, specialise(graph_, given, table_));
  if (!own_ledger_) {
    computed_ = std::make_unique<Holding>(ledger_);
    ISOBIT_RETURN_IF_ERROR(computed_->take(nullptr, computed_bytes(graph_, own)));
  }
  ISOBIT_RETURN_IF_ERROR(prepare(std::move(own)));
  types_ = std::move(types);
  return {};
}

const Tensor* Executor::constant_of(size_t input) const {
  const auto found = std::ranges::lower_bound(constants_, input, {}, &std::pair<size_t, Tensor>::first);
  return found == constants_.end() || found->first != input ? nullptr : &found->second;
}

// What an operator computes by graphs of its own, no stage has seen.
Status Executor::check_stage(const RunOptions& options) const {
  if (options.stage == nullptr || graph_.nested() == 0) return {};
  for (const graph::Node& node : graph_.nodes()) {
    if (!graph::op_of(node).runs_graphs) continue;
    return unreadable(text_of(text_of_node(node),
                              ": it runs a graph of its own, whose values this arithmetic cannot "
                              "round one by one: compute in ordered-1 or correct-1"));
  }
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
  std::optional<Ledger::CountingScratch> counting;
  if (own_ledger_) {
    ISOBIT_RETURN_IF_ERROR(check_fp_environment(*ctx.pool));
    ledger_.begin_run();
    counting.emplace(ledger_);
  }
  ISOBIT_RETURN_IF_ERROR(prepare_for(feeds));
  ISOBIT_RETURN_IF_ERROR(check_stage(options));
  return prepared_->run(ctx, feeds, outputs, options);
}

void Executor::release_memory() {
  if (prepared_ != nullptr) prepared_->release_memory();
}

Expected<std::vector<Tensor>> Executor::run(const kernels::KernelContext& ctx, Feeds feeds, RunOptions options) {
  std::vector<Tensor> outputs(graph_.outputs().size());
  ISOBIT_RETURN_IF_ERROR(run_into(ctx, feeds, outputs, options));
  return outputs;
}

}  // namespace isobit::runtime
