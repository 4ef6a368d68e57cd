#include "isobit/runtime/executor.h"

#include <algorithm>

#include "isobit/base/fp_env.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;

const KernelTable& kernel_table() {
  static const KernelTable kTable = [] {
    KernelTable table;
    add_elementwise_kernels(table);
    add_linear_kernels(table);
    add_pool_kernels(table);
    add_norm_kernels(table);
    add_softmax_kernels(table);
    add_reduce_kernels(table);
    add_movement_kernels(table);
    add_optimizer_kernels(table);
    return table;
  }();
  return kTable;
}

std::vector<std::string> Executor::unsupported_operators(const Graph& graph) {
  std::vector<std::string> missing;
  for (const Node& node : graph.nodes()) {
    if (!kernel_table().contains(node.op)) missing.push_back(node.op);
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

const Tensor* NodeRun::input(size_t i) const {
  const Tensor* tensor = i < inputs.size() ? inputs[i] : nullptr;
  if (tensor == nullptr || tensor->elements() == 0) return tensor;
  for (const Tensor& o : outputs) {
    if (o.defined() && o.raw() == tensor->raw() && !kernel_table().at(node.op).is_view) return nullptr;
  }
  return tensor;
}

Executor::Executor(const Graph& graph) : graph_(graph), last_use_(static_cast<size_t>(graph.value_count()), -1) {
  ISOBIT_CHECK(unsupported_operators(graph).empty());
  const auto nodes = static_cast<int64_t>(graph.nodes().size());
  for (int64_t n = 0; n < nodes; ++n) {
    for (ValueId i : graph.nodes()[static_cast<size_t>(n)].inputs) {
      if (i != kNoValue) last_use_[static_cast<size_t>(i)] = n;
    }
  }
  for (ValueId o : graph.outputs()) last_use_[static_cast<size_t>(o)] = nodes;
}

namespace {

// The values alive during one run, and their size.
class Values {
 public:
  explicit Values(int64_t count) : tensors_(static_cast<size_t>(count)) {}

  Tensor& operator[](ValueId id) { return tensors_[static_cast<size_t>(id)]; }
  void put(ValueId id, Tensor tensor, bool owns) {
    if (owns) held_ += tensor.bytes();
    peak_ = std::max(peak_, held_);
    tensors_[static_cast<size_t>(id)] = std::move(tensor);
  }
  void drop(ValueId id) {
    Tensor& tensor = tensors_[static_cast<size_t>(id)];
    if (!tensor.defined()) return;
    if (tensor.sole_owner()) held_ -= std::min(held_, tensor.bytes());
    tensor = Tensor();
  }
  size_t peak() const { return peak_; }

 private:
  std::vector<Tensor> tensors_;
  size_t held_ = 0, peak_ = 0;
};

size_t value_bytes(const graph::Value& value) {
  return static_cast<size_t>(value.shape().elements()) * size_of(value.dtype);
}

// The operand whose storage output `o` takes, or null.
template <class DiesHere>
const Tensor* storage_to_reuse(const Kernel& kernel, const KernelCall& call, int o, const DiesHere& dies_here) {
  const int input = reusable_input(kernel, call.node, o, dies_here);
  if (input < 0) return nullptr;
  const Tensor* operand = call.inputs[static_cast<size_t>(input)];
  return kernel.is_view || operand->sole_owner() ? operand : nullptr;
}

}  // namespace

Expected<std::vector<Tensor>> Executor::run(const kernels::KernelContext& ctx, Feeds feeds, RunOptions options) const {
  const auto [observer, stage, memory] = options;
  ISOBIT_RETURN_IF_ERROR(check_fp_environment(*ctx.pool));
  Values values(graph_.value_count());
  for (auto& [id, tensor] : feeds) {
    const graph::Value& value = graph_.value(id);
    ISOBIT_CHECK(tensor.defined() && tensor.dtype() == value.dtype);
    ISOBIT_CHECK(!value.is_static() || tensor.shape() == value.shape());
    values.put(id, std::move(tensor), true);
  }
  feeds.clear();
  for (const graph::Initializer& i : graph_.initializers()) values.put(i.value, i.tensor, false);

  if (stage != nullptr) stage->begin_run(graph_);
  for (size_t n = 0; n < graph_.nodes().size(); ++n) {
    const Node& node = graph_.nodes()[n];
    const Kernel& kernel = kernel_table().at(node.op);
    auto dies_here = [&](ValueId id) { return last_use_[static_cast<size_t>(id)] == static_cast<int64_t>(n); };

    KernelCall call{ctx, node, {}, std::vector<Tensor>(node.outputs.size())};
    for (ValueId i : node.inputs) call.inputs.push_back(i == kNoValue ? nullptr : &values[i]);
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const ValueId id = node.outputs[o];
      if (id == kNoValue) continue;
      const graph::Value& value = graph_.value(id);
      const Tensor* over = storage_to_reuse(kernel, call, static_cast<int>(o), dies_here);
      const bool fits = over != nullptr && over->dtype() == value.dtype && over->bytes() == value_bytes(value);
      call.outputs[o] = fits ? over->reshaped(value.shape()) : Tensor(value.dtype, value.shape());
    }
    if (!kernel.is_view) {
      const std::vector<graph::Statistic> statistics = observer != nullptr && observer->wants_statistics()
                                                           ? graph::statistics_of(graph_, node)
                                                           : std::vector<graph::Statistic>{};
      for (const graph::Statistic& s : statistics) call.statistics.emplace_back(call.in(0).dtype(), Shape(s.dims));
      if (Status done = kernel.run(call); !done) {
        // What a kernel finds wrong in a changed environment is that environment's.
        ISOBIT_RETURN_IF_ERROR(check_fp_environment(*ctx.pool));
        return tl::unexpected<Error>(std::move(done).error());
      }
      for (size_t s = 0; s < statistics.size(); ++s) {
        if (statistics[s].output >= 0) call.statistics[s] = call.out(statistics[s].output);
      }
      if (observer != nullptr) {
        ISOBIT_RETURN_IF_ERROR(
            observer->before_stage({graph_, n, node, ctx, call.inputs, call.outputs, call.statistics}));
      }
      if (stage != nullptr) ISOBIT_RETURN_IF_ERROR(stage->apply(n, call));
    }

    if (observer != nullptr) {
      ISOBIT_RETURN_IF_ERROR(observer->after_stage({graph_, n, node, ctx, call.inputs, call.outputs}));
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const ValueId id = node.outputs[o];
      if (id == kNoValue) continue;
      const bool owns = call.outputs[o].sole_owner();
      values.put(id, std::move(call.outputs[o]), owns);
    }
    for (ValueId i : node.inputs) {
      if (i != kNoValue && dies_here(i)) values.drop(i);
    }
    for (ValueId o : node.outputs) {
      if (o != kNoValue && last_use_[static_cast<size_t>(o)] < 0) values.drop(o);
    }
  }
  ISOBIT_RETURN_IF_ERROR(check_fp_environment(*ctx.pool));
  if (memory != nullptr) memory->peak_bytes = values.peak();
  std::vector<Tensor> outputs;
  for (ValueId o : graph_.outputs()) outputs.push_back(values[o]);
  return outputs;
}

}  // namespace isobit::runtime
