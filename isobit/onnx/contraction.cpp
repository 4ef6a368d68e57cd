#include <algorithm>
#include <optional>

#include "isobit/onnx/contraction_internal.h"

namespace isobit::onnx {
namespace {

using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using Ints = std::vector<int64_t>;

constexpr size_t kNone = SIZE_MAX;

// The nodes of a graph by what they make and read.
class Chains {
 public:
  Chains(const graph::Graph& graph, const std::vector<int>& readers)
      : graph_(graph),
        readers_(readers),
        maker_(static_cast<size_t>(graph.value_count()), kNone),
        reader_(maker_.size(), kNone) {
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      bool is_read = false;
      for (const ValueId o : graph.nodes()[n].outputs) {
        if (o == kNoValue) continue;
        maker_[static_cast<size_t>(o)] = n;
        is_read = is_read || readers[static_cast<size_t>(o)] > 0;
      }
      if (!is_read) continue;
      for (const ValueId i : graph.nodes()[n].inputs) {
        if (i != kNoValue) reader_[static_cast<size_t>(i)] = n;
      }
    }
  }

  const Node& node(size_t n) const { return graph_.nodes()[n]; }
  const Ints& dims(ValueId id) const { return graph_.value(id).dims; }
  const Ints& made(size_t n) const { return dims(node(n).outputs[0]); }

  // The node that alone reads what node n makes, as its operand `input`, if it is such an operator.
  size_t next(size_t n, const char* op, size_t input = 0) const {
    if (n == kNone || !has_one_reader(node(n).outputs[0])) return kNone;
    const size_t r = reader_[static_cast<size_t>(node(n).outputs[0])];
    if (r == kNone || node(r).op != op || input >= node(r).inputs.size()) return kNone;
    return node(r).inputs[input] == node(n).outputs[0] ? r : kNone;
  }
  // The Reshape that makes operand `input` of node n and nothing else.
  size_t reshape_behind(size_t n, size_t input) const {
    if (n == kNone || input >= node(n).inputs.size() || node(n).inputs[input] == kNoValue) return kNone;
    const ValueId operand = node(n).inputs[input];
    const size_t m = maker_[static_cast<size_t>(operand)];
    return m != kNone && node(m).op == "Reshape" && has_one_reader(operand) ? m : kNone;
  }
  bool exchanges(size_t n) const { return n != kNone && node(n).attributes.integers("perm", {}) == Ints{0, 2, 1, 3}; }

 private:
  bool has_one_reader(ValueId id) const { return readers_[static_cast<size_t>(id)] == 1; }

  const graph::Graph& graph_;
  const std::vector<int>& readers_;
  std::vector<size_t> maker_, reader_;  // by value
};

// Whether these are the dimensions but for the first one, which may be any.
bool ends_in(const Ints& dims, const Ints& wanted) {
  return dims.size() == wanted.size() + 1 && std::equal(wanted.begin(), wanted.end(), dims.begin() + 1);
}

Contraction sorted(Contraction c) {
  std::sort(c.nodes.begin(), c.nodes.end());
  return c;
}

// Windows along the first of three axes that a convolution along the other two goes over.
std::optional<Contraction> conv_of_volumes(const Chains& c, size_t depths) {
  const size_t planes = c.next(depths, "Reshape"), by_depth = c.next(planes, "Transpose");
  const size_t images = c.next(by_depth, "Reshape"), conv = c.next(images, "Conv");
  const size_t results = c.next(conv, "Reshape"), by_channel = c.next(results, "Transpose");
  const size_t last = c.next(by_channel, "Reshape"), weights = c.reshape_behind(conv, 1);
  if (last == kNone || weights == kNone || !c.exchanges(by_depth) || !c.exchanges(by_channel)) return std::nullopt;
  const ValueId x = c.node(depths).inputs[0], w = c.node(weights).inputs[0];
  const Ints &src = c.dims(x), &kernel = c.dims(w), &dst = c.made(last);
  if (src.size() != 5 || kernel.size() != 5 || dst.size() != 5) return std::nullopt;
  const graph::Attributes &depth = c.node(depths).attributes, &plane = c.node(conv).attributes;
  const auto joined = [&](const char* name, int64_t otherwise) -> std::optional<Ints> {
    const Ints d = depth.integers(name, Ints(3, otherwise)), p = plane.integers(name, Ints(2, otherwise));
    if (d.size() != 3 || p.size() != 2 || d[1] != otherwise || d[2] != otherwise) return std::nullopt;
    return Ints{d[0], p[0], p[1]};
  };
  const auto size = joined("kernel_shape", 1), strides = joined("strides", 1), dilations = joined("dilations", 1);
  const Ints d = depth.integers("pads", Ints(6, 0)), p = plane.integers("pads", Ints(4, 0));
  if (!size || !strides || !dilations || d.size() != 6 || p.size() != 4 || depth.has("auto_pad") ||
      plane.has("auto_pad") || d[1] != 0 || d[2] != 0 || d[4] != 0 || d[5] != 0) {
    return std::nullopt;
  }
  const int64_t channels = src[1] * (*size)[0];
  if (*size != Ints(kernel.begin() + 2, kernel.end()) || dst[1] != kernel[0] ||
      !ends_in(c.made(planes), {channels, dst[2], src[3] * src[4]}) ||
      !ends_in(c.made(images), {channels, src[3], src[4]}) ||
      c.made(weights) != Ints{kernel[0], kernel[1] * kernel[2], kernel[3], kernel[4]} ||
      !ends_in(c.made(results), {dst[2], dst[1], dst[3] * dst[4]})) {
    return std::nullopt;
  }
  std::vector<ValueId> inputs = c.node(conv).inputs;
  inputs[0] = x, inputs[1] = w;
  return sorted({.nodes = {depths, planes, by_depth, images, conv, results, by_channel, last, weights},
                 .op = "Conv",
                 .inputs = std::move(inputs),
                 .attributes = {{"kernel_shape", *size},
                                {"strides", *strides},
                                {"dilations", *dilations},
                                {"pads", Ints{d[0], p[0], p[1], d[3], p[2], p[3]}},
                                {"group", plane.integer("group", 1)}},
                 .since = 17});
}

// Windows that data move, times weights, and perhaps a bias.
std::optional<Contraction> deform_conv(const Chains& c, size_t columns) {
  const size_t groups = c.next(columns, "Reshape"), product = c.next(groups, "MatMul", 1);
  const size_t planes = c.next(product, "Reshape"), weights = c.reshape_behind(product, 0);
  if (planes == kNone || weights == kNone || !c.node(product).attributes.items().empty()) return std::nullopt;
  const ValueId w = c.node(weights).inputs[0];
  const Ints &kernel = c.dims(w), &grouped = c.made(groups), &dst = c.made(planes);
  if (kernel.size() != 4 || grouped.size() != 4 || dst.size() != 4) return std::nullopt;
  const int64_t group = grouped[1], terms = kernel[1] * kernel[2] * kernel[3];
  if (group < 1 || grouped[2] != terms || c.made(weights) != Ints{group, kernel[0] / group, terms} ||
      dst[1] != kernel[0] || dst[2] * dst[3] != grouped[3] ||
      c.node(columns).attributes.integers("kernel_shape", {}) != Ints{kernel[2], kernel[3]}) {
    return std::nullopt;
  }
  const std::vector<ValueId>& sampled = c.node(columns).inputs;
  Contraction all{.nodes = {columns, groups, product, planes, weights},
                  .op = "DeformConv",
                  .inputs = {sampled[0], w, sampled[1], kNoValue, sampled.size() > 2 ? sampled[2] : kNoValue},
                  .attributes = c.node(columns).attributes,
                  .since = 19};
  all.attributes.set("group", group);
  const size_t sum = c.next(planes, "Add"), bias = c.reshape_behind(sum, 1);
  if (bias != kNone && c.made(bias) == Ints{kernel[0], 1, 1} && c.dims(c.node(bias).inputs[0]) == Ints{kernel[0]}) {
    all.nodes.insert(all.nodes.end(), {sum, bias});
    all.inputs[3] = c.node(bias).inputs[0];
  }
  while (all.inputs.back() == kNoValue) all.inputs.pop_back();
  return sorted(std::move(all));
}

}  // namespace

std::vector<Contraction> contractions_of(const graph::Graph& graph, const std::vector<int>& readers) {
  const Chains chains(graph, readers);
  std::vector<Contraction> found;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    std::optional<Contraction> c;
    if (graph.nodes()[n].op == "isobit.Im2Col") c = conv_of_volumes(chains, n);
    if (graph.nodes()[n].op == "isobit.DeformIm2Col") c = deform_conv(chains, n);
    if (c) found.push_back(*std::move(c));
  }
  return found;
}

}  // namespace isobit::onnx
