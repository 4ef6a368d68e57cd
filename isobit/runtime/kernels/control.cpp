// If, Loop and Scan (graph/ops/control.cpp): graphs within a node, run by an executor of their own for each node.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/movement/movement.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/ledger.h"
#include "isobit/runtime/prepared_run.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

using Tensors = std::vector<Tensor>;

// The graph of an attribute, ready to run.
class Body {
 public:
  // Its input i is operand `first` + i of the node. The first `brought` inputs are brought by the operator in every
  // run; behind them are the captured values.
  Body(const KernelSite& site, const std::string& attribute, size_t first, size_t brought)
      : attribute_(attribute),
        graph_(std::get<std::shared_ptr<const graph::Graph>>(site.attributes().items().at(attribute))),
        first_(first),
        brought_(brought),
        own_ledger_(site.ledger == nullptr ? std::make_unique<Ledger>(Limits{}) : nullptr),
        ledger_(site.ledger == nullptr ? *own_ledger_ : *site.ledger),
        is_constant_(graph_->inputs().size(), 0) {
    Executor::Part part{&ledger_, {}};
    for (size_t i = brought; i < is_constant_.size(); ++i) {
      const Tensor* constant = site.graph.initializer(site.node.inputs[first + i]);
      if (constant == nullptr) continue;
      is_constant_[i] = 1;
      part.constants.emplace_back(i, *constant);
    }
    executor_ = std::make_unique<Executor>(*graph_, site.table == nullptr ? kernel_table() : *site.table, part);
  }

  const graph::Graph& graph() const { return *graph_; }
  Ledger& ledger() const { return ledger_; }

  // What runs of the graph have kept for the next one is given back: nodes that have run hold nothing but what
  // products keep of constants (kernels/matmul/kept_panels.h).
  void release() const { executor_->release_memory(); }

  // brought: as many as was said. trip: which one, for the error; -1: there are none.
  Expected<Tensors> run(const KernelCall& call, Tensors brought, int64_t trip = -1) const {
    Executor::Feeds feeds;
    for (size_t i = 0; i < is_constant_.size(); ++i) {
      if (is_constant_[i] != 0) continue;
      if (i < brought_) {
        feeds.emplace_back(graph_->inputs()[i], std::move(brought[i]));
      } else {
        feeds.emplace_back(graph_->inputs()[i], *call.inputs[first_ + i]);
      }
    }
    auto outputs = executor_->run(call.ctx, std::move(feeds));
    if (outputs) return outputs;
    Error error = std::move(outputs).error();
    error.message = text_of(text_of_node(call.node), trip < 0 ? "" : text_of(", trip ", trip), ": ", attribute_, ": ",
                            error.message);
    return tl::unexpected<Error>(std::move(error));
  }

 private:
  const std::string attribute_;
  const std::shared_ptr<const graph::Graph> graph_;
  const size_t first_, brought_;
  const std::unique_ptr<Ledger> own_ledger_;  // of a site that has none
  Ledger& ledger_;
  std::vector<char> is_constant_;  // by input of the graph
  std::unique_ptr<Executor> executor_;
};

Expected<bool> truth_of(const KernelCall& call, const char* what, const Tensor& tensor) {
  if (tensor.elements() == 1) return *static_cast<const uint8_t*>(tensor.raw()) != 0;
  return unreadable(
      text_of(text_of_node(call.node), ": ", what, " has shape ", tensor.shape().text(), ", expected one element"));
}

MakeOutputs bind_if(const KernelSite& site) {
  const auto if_true = std::make_shared<Body>(site, "then_branch", 1, 0);
  const auto if_false = std::make_shared<Body>(site, "else_branch", 1, 0);
  return [if_true, if_false](const KernelCall& call) -> Expected<Tensors> {
    ISOBIT_TRY(const bool condition, truth_of(call, "the condition", call.in(0)));
    const Body& branch = condition ? *if_true : *if_false;
    const AtEnd released([&] { branch.release(); });
    return branch.run(call, {});
  };
}

// What trips give for one scan output, to be put one after another along an axis.
struct Stack {
  std::string name;
  DType dtype;
  Shape empty;  // of the output when there is no trip
  int64_t axis = 0;
  bool backward = false;
  Tensors elements = {};

  Status add(const KernelCall& call, int64_t trip, Tensor element, Holding& holding) {
    if (!elements.empty() && element.shape() != elements[0].shape()) {
      return unreadable(text_of(text_of_node(call.node), ", trip ", trip, ": an element of '", name, "' has shape ",
                                element.shape().text(), ", expected ", elements[0].shape().text(),
                                " as in the trips before"));
    }
    // With what a tensor is besides its elements: trips that give hardly any are many.
    constexpr uint64_t kOfATensor = 512;
    ISOBIT_RETURN_IF_ERROR(holding.take(&call.node, element.bytes() + kOfATensor));
    elements.push_back(std::move(element));
    return {};
  }

  Expected<Tensor> stacked(const KernelCall& call, const Ledger& ledger, Holding& holding) {
    if (elements.empty()) return Tensor(dtype, empty);
    std::vector<int64_t> dims = elements[0].shape().dims();
    ISOBIT_TRY(const int64_t at, graph::normalized_axis(axis, static_cast<int>(dims.size()) + 1));
    dims.insert(dims.begin() + at, static_cast<int64_t>(elements.size()));
    ISOBIT_TRY(const uint64_t bytes, ledger.bytes_of(call.node, {name, dtype, dims}));
    ISOBIT_RETURN_IF_ERROR(holding.take(&call.node, bytes));
    Tensor all(dtype, Shape(dims));
    std::vector<k::SliceRange> ranges;
    for (const int64_t d : dims) ranges.push_back({0, d, 1});
    for (size_t e = 0; e < elements.size(); ++e) {
      const size_t place = backward ? elements.size() - 1 - e : e;
      ranges[static_cast<size_t>(at)] = {static_cast<int64_t>(place), 1, 1};
      k::assign_slice(call.ctx, size_of(dtype), all.shape(), ranges, elements[e].raw(), all.raw());
    }
    elements.clear();
    return all;
  }
};

// Of outputs `first` and behind of the node, which are outputs `in_body` and behind of the body. Without a trip a
// dimension that nobody knows is 0.
std::vector<Stack> stacks_of(const KernelSite& site, const graph::Graph& body, size_t first, size_t in_body,
                             const std::vector<int64_t>& axes, const std::vector<int64_t>& backward) {
  std::vector<Stack> stacks;
  for (size_t o = first; o < site.node.outputs.size(); ++o) {
    const size_t s = o - first;
    const graph::Value& element = body.value(body.outputs()[in_body + s]);
    const bool named = site.node.outputs[o] != graph::kNoValue;
    std::vector<int64_t> dims = named ? site.out(static_cast<int>(o)).dims : graph::kUnknownRank;
    if (dims == graph::kUnknownRank) {
      dims = element.has_rank() ? element.dims : std::vector<int64_t>{};
      const auto at = graph::normalized_axis(axes[s], static_cast<int>(dims.size()) + 1);
      dims.insert(dims.begin() + at.value_or(0), 0);
    }
    for (int64_t& d : dims) d = std::max<int64_t>(d, 0);
    stacks.push_back({element.name, named ? site.out(static_cast<int>(o)).dtype : element.dtype, Shape(dims), axes[s],
                      backward[s] != 0});
  }
  return stacks;
}

// Carried values, then what is stacked.
Expected<Tensors> outputs_of(const KernelCall& call, Tensors carried, std::vector<Stack>& stacks, const Ledger& ledger,
                             Holding& holding) {
  for (Stack& stack : stacks) {
    carried.emplace_back();
    ISOBIT_TRY(carried.back(), stack.stacked(call, ledger, holding));
  }
  return carried;
}

// One number, in the shape that the body declares for its input: [] or [1].
template <class T>
Tensor one_element(const graph::Graph& body, size_t input, DType dtype, T value) {
  const graph::Value& declared = body.value(body.inputs()[input]);
  Tensor one(dtype, declared.has_rank() && declared.dims.size() == 1 ? Shape{1} : Shape{});
  ISOBIT_CHECK(one.bytes() == sizeof value);
  std::memcpy(one.raw(), &value, sizeof value);
  return one;
}

MakeOutputs bind_loop(const KernelSite& site) {
  const auto carried = static_cast<size_t>(site.attributes().integer("carried", 0));
  const auto body = std::make_shared<Body>(site, "body", 0, 2 + carried);
  const std::vector<int64_t> zeros(body->graph().outputs().size(), 0);
  const std::vector<Stack> empty = stacks_of(site, body->graph(), carried, 1 + carried, zeros, zeros);
  return [body, carried, empty](const KernelCall& call) -> Expected<Tensors> {
    int64_t most = INT64_MAX;
    bool goes_on = true;
    if (call.has(0)) {
      if (call.in(0).elements() != 1) {
        return unreadable(text_of(text_of_node(call.node), ": the number of trips has shape ",
                                  call.in(0).shape().text(), ", expected one element"));
      }
      most = call.in(0).data<int64_t>()[0];
    }
    if (call.has(1)) {
      ISOBIT_TRY(goes_on, truth_of(call, "the condition", call.in(1)));
    }
    Tensors values;
    for (size_t i = 0; i < carried; ++i) values.push_back(*call.inputs[2 + i]);
    std::vector<Stack> stacks = empty;
    Holding holding(body->ledger());
    const AtEnd released([&] { body->release(); });
    for (int64_t trip = 0; trip < most && goes_on; ++trip) {
      ISOBIT_RETURN_IF_ERROR(body->ledger().begin_trip(call.node));
      Tensors brought = {one_element(body->graph(), 0, DType::kInt64, trip),
                         one_element(body->graph(), 1, DType::kBool, uint8_t{1})};
      std::ranges::move(values, std::back_inserter(brought));
      values.clear();
      ISOBIT_TRY(Tensors made, body->run(call, std::move(brought), trip));
      if (call.has(1)) {
        ISOBIT_TRY(goes_on, truth_of(call, "the body's condition", made[0]));
      }
      for (size_t i = 0; i < carried; ++i) values.push_back(std::move(made[1 + i]));
      for (size_t s = 0; s < stacks.size(); ++s) {
        ISOBIT_RETURN_IF_ERROR(stacks[s].add(call, trip, std::move(made[1 + carried + s]), holding));
      }
    }
    return outputs_of(call, std::move(values), stacks, body->ledger(), holding);
  };
}

// The sequences of a Scan: input `first` and behind.
struct Sequences {
  size_t first = 0;
  std::vector<int64_t> axes, backward;

  static int axis_of(const Tensor& tensor, int64_t axis) {
    return static_cast<int>(axis < 0 ? axis + tensor.shape().rank() : axis);
  }

  Expected<int64_t> length(const KernelCall& call) const {
    int64_t elements = 0;
    for (size_t s = 0; s < axes.size(); ++s) {
      const Tensor& sequence = *call.inputs[first + s];
      const int64_t found = sequence.shape()[axis_of(sequence, axes[s])];
      if (s > 0 && found != elements) {
        return unreadable(text_of(text_of_node(call.node), ": sequences of ", elements, " and of ", found,
                                  " elements are scanned together"));
      }
      elements = found;
    }
    return elements;
  }

  // Number t of each.
  void add_elements(const KernelCall& call, int64_t t, int64_t length, Tensors& brought) const {
    for (size_t s = 0; s < axes.size(); ++s) {
      const Tensor& sequence = *call.inputs[first + s];
      const auto axis = static_cast<size_t>(axis_of(sequence, axes[s]));
      std::vector<int64_t> dims = sequence.shape().dims();
      std::vector<k::SliceRange> ranges;
      for (const int64_t d : dims) ranges.push_back({0, d, 1});
      ranges[axis] = {backward[s] != 0 ? length - 1 - t : t, 1, 1};
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
      brought.emplace_back(sequence.dtype(), Shape(dims));
      k::slice(call.ctx, size_of(sequence.dtype()), sequence.shape(), ranges, sequence.raw(), brought.back().raw());
    }
  }
};

MakeOutputs bind_scan(const KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  const auto states = static_cast<size_t>(attributes.integer("carried", 0));
  const auto scanned = static_cast<size_t>(attributes.integer("num_scan_inputs", 0));
  const auto body = std::make_shared<Body>(site, "body", 0, states + scanned);
  const std::vector<int64_t> zeros(scanned, 0), zeros_out(body->graph().outputs().size(), 0);
  const Sequences sequences{states, attributes.integers("scan_input_axes", zeros),
                            attributes.integers("scan_input_directions", zeros)};
  const std::vector<Stack> empty =
      stacks_of(site, body->graph(), states, states, attributes.integers("scan_output_axes", zeros_out),
                attributes.integers("scan_output_directions", zeros_out));
  return [body, states, sequences, empty](const KernelCall& call) -> Expected<Tensors> {
    ISOBIT_TRY(const int64_t length, sequences.length(call));
    Tensors values;
    for (size_t i = 0; i < states; ++i) values.push_back(*call.inputs[i]);
    std::vector<Stack> stacks = empty;
    Holding holding(body->ledger());
    const AtEnd released([&] { body->release(); });
    for (int64_t t = 0; t < length; ++t) {
      ISOBIT_RETURN_IF_ERROR(body->ledger().begin_trip(call.node));
      Tensors brought = std::move(values);
      values.clear();
      sequences.add_elements(call, t, length, brought);
      ISOBIT_TRY(Tensors made, body->run(call, std::move(brought), t));
      for (size_t i = 0; i < states; ++i) values.push_back(std::move(made[i]));
      for (size_t s = 0; s < stacks.size(); ++s) {
        ISOBIT_RETURN_IF_ERROR(stacks[s].add(call, t, std::move(made[states + s]), holding));
      }
    }
    return outputs_of(call, std::move(values), stacks, body->ledger(), holding);
  };
}

}  // namespace

void add_control_kernels(KernelTable& table) {
  table["If"] = {.run = {}, .bind_making = bind_if};
  table["Loop"] = {.run = {}, .bind_making = bind_loop};
  table["Scan"] = {.run = {}, .bind_making = bind_scan};
}

}  // namespace isobit::runtime
