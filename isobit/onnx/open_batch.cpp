#include "isobit/onnx/open_batch.h"

#include <algorithm>
#include <optional>

#include "isobit/base/text.h"
#include "isobit/graph/passes/rebuild.h"
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using Ints = std::vector<int64_t>;

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

int64_t product(Ints::const_iterator begin, Ints::const_iterator end) {
  int64_t p = 1;
  for (; begin != end; ++begin) p *= *begin;
  return p;
}

// The same network for `samples` samples, for `others`, and for any number, node by node.
class Opening {
 public:
  Opening(const Graph& graph, const std::vector<ValueId>& inputs)
      : graph_(graph),
        is_fed_(index_of(static_cast<ValueId>(graph.value_count())), false),
        samples_(graph.value(inputs.front()).dims.front()),
        others_(samples_ + 4) {
    ISOBIT_CHECK(samples_ >= 2);
    for (const ValueId i : inputs) {
      ISOBIT_CHECK(graph.value(i).dims.front() == samples_);
      is_fed_[index_of(i)] = true;
    }
  }

  Expected<OpenBatch> run() {
    graph::InOrder add;
    add.constant = [&](ValueId id, const Tensor& constant) { return add_constant(id, constant); };
    add.input = [&](ValueId id, size_t) { return add_input(id); };
    add.node = [&](const Node& node) { return add_node(node); };
    ISOBIT_RETURN_IF_ERROR(graph::visit_in_order(graph_, add));
    for (const ValueId o : graph_.outputs()) open_.add_output(o);
    OpenBatch opened{std::move(open_), {}};
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      const auto axis = axis_of(id);
      opened.places.push_back(axis ? dims(id)[*axis] / samples_ : 0);
    }
    return opened;
  }

 private:
  const Ints& dims(ValueId id) const { return graph_.value(id).dims; }

  // Which dimension grows; none where no one does. REQUIRES that there is not more than one.
  std::optional<size_t> axis_of(ValueId id) const {
    const Ints& now = dims(id);
    const Ints& then = other_.value(id).dims;
    for (size_t d = 0; d < now.size(); ++d) {
      if (now[d] != then[d]) return d;
    }
    return std::nullopt;
  }

  Status add_constant(ValueId id, const Tensor& constant) {
    for (Graph* g : {&other_, &open_}) ISOBIT_CHECK(g->add_initializer(graph_.value(id).name, constant) == id);
    return {};
  }

  Status add_input(ValueId id) {
    const graph::Value& value = graph_.value(id);
    Ints then = value.dims, any = value.dims;
    if (is_fed_[index_of(id)]) then.front() = others_, any.front() = -1;
    ISOBIT_CHECK(other_.add_input(value.name, value.dtype, std::move(then)) == id);
    ISOBIT_CHECK(open_.add_input(value.name, value.dtype, std::move(any)) == id);
    return {};
  }

  static tl::unexpected<Error> error(const Node& node, std::string_view reason) {
    return unreadable(text_of("node '", node.name, "' (", node.op, "): ", reason));
  }

  bool has_samples(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId i) { return i != kNoValue && axis_of(i).has_value(); });
  }

  // What the node is for other numbers of samples, where that is not itself.
  struct Form {
    std::string op;
    graph::Attributes attributes;
  };

  // Samples are all taken, or the outputs do not grow with them.
  Form block(const Node& node) const {
    graph::Attributes cut = slice_of_block(dims(node.inputs[0]), node.attributes);
    if (cut.integers("axes", {}).empty()) return {"Identity", {}};
    return {"Slice", std::move(cut)};
  }

  Status add_node(const Node& node) {
    Form form{node.op, node.attributes};
    if (has_samples(node)) {
      if (node.op == "isobit.Block") form = block(node);
      if (node.op == "Reshape" && node.attributes.has("shape")) {
        ISOBIT_TRY(form.attributes, reshape(node));
      }
    }
    Names names;
    for (const ValueId o : node.outputs) names.push_back(o == kNoValue ? "" : graph_.value(o).name);
    for (Graph* g : {&other_, &open_}) {
      const auto added = g->add_node(form.op, node.inputs, form.attributes, names, node.name);
      if (!added) return error(node, text_of("does not take another number of samples: ", added.error().message));
    }
    return check_outputs(node);
  }

  // Each sample has as many places of an output as any other, and there is one dimension that has them.
  Status check_outputs(const Node& node) const {
    const bool wanted = has_samples(node);
    for (const ValueId o : node.outputs) {
      if (o == kNoValue) continue;
      const Ints &now = dims(o), &then = other_.value(o).dims, &any = open_.value(o).dims;
      int64_t growing = 0;
      bool in_step = now.size() == then.size() && now.size() == any.size();
      for (size_t d = 0; in_step && d < now.size(); ++d) {
        const bool grows = now[d] != then[d];
        growing += grows ? 1 : 0;
        in_step =
            now[d] >= 0 && now[d] * others_ == (grows ? then[d] * samples_ : now[d] * others_) && (any[d] < 0) == grows;
      }
      if (in_step && growing == (wanted ? 1 : 0)) continue;
      return error(node, text_of("output '", graph_.value(o).name, "' ", Shape(now).text(), " would be ",
                                 Shape(then).text(), " for ", others_, " samples in place of ", samples_,
                                 ": it has no dimension of its own for them"));
    }
    return {};
  }

  // In a shape of what has samples along `axis`, the dimension in which they then lie: the one that begins where they
  // do, so that each sample stays together. It is written as what remains, or as the source has it.
  Expected<graph::Attributes> reshape(const Node& node) const {
    const Ints &src = dims(node.inputs[0]), &dst = dims(node.outputs[0]);
    const size_t axis = *axis_of(node.inputs[0]);
    const int64_t before = product(src.begin(), src.begin() + static_cast<std::ptrdiff_t>(axis));
    const bool keeps_zero = node.attributes.integer("allowzero", 0) != 0;
    int64_t passed = 1;
    for (size_t d = 0; d < dst.size(); passed *= dst[d++]) {
      if (passed != before || dst[d] == 0 || dst[d] % samples_ != 0) continue;
      Ints shape = dst;
      shape[d] = d == axis && dst[d] == src[axis] && !keeps_zero ? 0 : -1;
      graph::Attributes attributes = node.attributes;
      attributes.set("shape", std::move(shape));
      return attributes;
    }
    return error(node, text_of("from ", Shape(src).text(), " to ", Shape(dst).text(), ", which takes the ", samples_,
                               " samples apart"));
  }

  const Graph& graph_;
  std::vector<bool> is_fed_;  // by value: whether samples are fed to it
  const int64_t samples_, others_;
  Graph other_, open_;
};

}  // namespace

Expected<OpenBatch> open_batch(const Graph& graph, const std::vector<ValueId>& inputs) {
  return Opening(graph, inputs).run();
}

std::map<std::string, std::vector<std::string>> OpenBatch::dim_names(const std::string& batch) const {
  std::map<std::string, std::vector<std::string>> names;
  const auto add = [&](ValueId id) {
    const graph::Value& value = graph.value(id);
    if (places[index_of(id)] == 0) return;
    std::vector<std::string> axes;
    for (const int64_t d : value.dims) {
      axes.push_back(d >= 0 ? "" : places[index_of(id)] == 1 ? batch : text_of(places[index_of(id)], "*", batch));
    }
    names[value.name] = std::move(axes);
  };
  for (const ValueId id : graph.inputs()) add(id);
  for (const ValueId id : graph.outputs()) add(id);
  return names;
}

}  // namespace isobit::onnx
