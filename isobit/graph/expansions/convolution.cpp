#include "isobit/graph/expansions/convolution.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::expansions {
namespace {

using Ints = std::vector<int64_t>;
using ops::AxisWindow;
using ops::image_of;
using ops::Windows;

// Appends nodes whose values are called NAME/what.
class Nodes {
 public:
  Nodes(Graph& graph, const std::string& name, const char* op) : graph_(graph), name_(name), op_(op) {}

  Expected<ValueId> emit(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                         const std::string& what) {
    ISOBIT_TRY(const auto outputs, graph_.add_node(op, std::move(inputs), std::move(attributes),
                                                   {what.empty() ? name_ : text_of(name_, "/", what)}));
    return outputs[0];
  }
  Expected<ValueId> reshape(ValueId value, Ints shape, const std::string& what) {
    return emit("Reshape", {value}, {{"shape", std::move(shape)}}, what);
  }
  // [n, c, d, places] <-> [n, d, c, places]
  Expected<ValueId> exchange(ValueId value, const std::string& what) {
    return emit("Transpose", {value}, {{"perm", Ints{0, 2, 1, 3}}}, what);
  }
  // Adds a number of its own to each of the channels, or makes the value the result as it is.
  Expected<ValueId> add_bias(ValueId value, ValueId bias, int64_t channels) {
    Ints shape(graph_.value(value).dims.size() - 1, 1);
    shape[0] = channels;
    ISOBIT_TRY(const ValueId planes, reshape(bias, std::move(shape), "bias"));
    return emit("Add", {value, planes}, {}, "");
  }
  tl::unexpected<Error> error(const std::string& message) const {
    return unreadable(text_of("node '", name_, "' (", op_, "): ", message));
  }

 private:
  Graph& graph_;
  std::string name_;
  const char* op_;
};

// Windows along the first of three axes, and along the other two.
Windows in_depth(const Windows& windows) { return {windows[0], AxisWindow{}, AxisWindow{}}; }
Windows in_planes(const Windows& windows) { return {windows[1], windows[2]}; }

bool all_known(std::span<const int64_t> extents) {
  return std::all_of(extents.begin(), extents.end(), [](int64_t d) { return d >= 0; });
}

// What a convolution along three axes is refused for, before its windows are read.
Status check_volumes(const Nodes& nodes, const Ints& src, const Ints& weights, const Attributes& attributes) {
  if (src.size() != 5 || weights.size() != 5) return nodes.error("source and weights need one rank, 3 to 5");
  if (!all_known(std::span(src).subspan(1)) || !all_known(weights)) {
    return nodes.error("along three axes every extent but the number of images must be known before the run");
  }
  const int64_t group = attributes.integer("group", 1);
  if (group < 1 || weights[0] % group != 0 || std::find(weights.begin(), weights.end(), 0) != weights.end()) {
    return nodes.error(text_of("weights of shape ", Shape(weights).text(), " in ", group, " groups"));
  }
  int64_t elements = 1;
  for (int64_t d : weights) {
    if (__builtin_mul_overflow(elements, d, &elements)) return nodes.error("the weights are too large");
  }
  return {};
}

Status check_kernel(const Nodes& nodes, const Windows& windows, const Ints& weights) {
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].size != weights[i + 2]) return nodes.error("kernel_shape differs from the weights' shape");
  }
  return {};
}

// The attributes that an inner operator checks are checked here as well, since none of them sees all.
Status check_attributes(const Nodes& nodes, const Attributes& attributes, bool transposed) {
  for (const auto& [name, value] : attributes.items()) {
    const bool ints = name == "kernel_shape" || name == "strides" || name == "pads" || name == "dilations" ||
                      (transposed && (name == "output_padding" || name == "output_shape"));
    const bool fits = ints                 ? std::holds_alternative<Ints>(value)
                      : name == "group"    ? std::holds_alternative<int64_t>(value)
                      : name == "auto_pad" ? std::holds_alternative<std::string>(value)
                                           : false;
    if (!fits) return nodes.error(text_of("attribute '", name, "' is not known, or has the wrong type"));
  }
  return {};
}

Expected<ValueId> conv_of_volumes(Graph& graph, const ConvolutionArguments& a) {
  Nodes nodes(graph, a.name, "Conv");
  ISOBIT_RETURN_IF_ERROR(check_attributes(nodes, a.attributes, false));
  const Ints src = graph.value(a.src).dims, weights = graph.value(a.weights).dims;
  ISOBIT_RETURN_IF_ERROR(check_volumes(nodes, src, weights, a.attributes));
  ISOBIT_RETURN_IF_ERROR(ops::check_plane(image_of(src)));
  ISOBIT_TRY(const Windows windows, ops::read_windows(a.attributes, image_of(src), image_of(weights)));
  ISOBIT_RETURN_IF_ERROR(check_kernel(nodes, windows, weights));
  ISOBIT_RETURN_IF_ERROR(ops::check_counts(windows, image_of(src)));
  const Ints dst = ops::dims_of_windows(-1, weights[0], windows, image_of(src));
  int64_t channels = 0;  // of the image of one depth
  if (__builtin_mul_overflow(src[1], weights[2], &channels)) return nodes.error("the source is too large");

  ISOBIT_TRY(ValueId x, nodes.emit("isobit.Im2Col", {a.src}, ops::attributes_of(in_depth(windows)), "depths"));
  ISOBIT_TRY(x, nodes.reshape(x, {0, channels, dst[2], src[3] * src[4]}, "planes"));
  ISOBIT_TRY(x, nodes.exchange(x, "by_depth"));
  ISOBIT_TRY(x, nodes.reshape(x, {-1, channels, src[3], src[4]}, "images"));
  ISOBIT_TRY(const ValueId w,
             nodes.reshape(a.weights, {weights[0], weights[1] * weights[2], weights[3], weights[4]}, "weights"));
  Attributes attributes = ops::attributes_of(in_planes(windows));
  attributes.set("group", a.attributes.integer("group", 1));
  std::vector<ValueId> inputs = {x, w};
  if (a.bias != kNoValue) inputs.push_back(a.bias);
  ISOBIT_TRY(ValueId y, nodes.emit("Conv", std::move(inputs), std::move(attributes), "convolved"));
  ISOBIT_TRY(y, nodes.reshape(y, {-1, dst[2], dst[1], dst[3] * dst[4]}, "results"));
  ISOBIT_TRY(y, nodes.exchange(y, "by_channel"));
  return nodes.reshape(y, {0, dst[1], dst[2], dst[3], dst[4]}, "");
}

// The extents that windows on the result leave over, as ConvTranspose takes them.
Ints output_padding(const ops::TransposedWindows& t, std::span<const int64_t> src) {
  Ints padding;
  for (size_t i = 1; i < t.windows.size(); ++i) {
    const AxisWindow& w = t.windows[i];
    padding.push_back(t.image[i] - (w.stride * (src[i] - 1) + w.reach() - w.pad_begin - w.pad_end));
  }
  return padding;
}

Expected<ValueId> transposed_conv_of_volumes(Graph& graph, const ConvolutionArguments& a) {
  Nodes nodes(graph, a.name, "ConvTranspose");
  ISOBIT_RETURN_IF_ERROR(check_attributes(nodes, a.attributes, true));
  const Ints src = graph.value(a.src).dims, weights = graph.value(a.weights).dims;
  ISOBIT_RETURN_IF_ERROR(check_volumes(nodes, src, weights, a.attributes));
  ISOBIT_RETURN_IF_ERROR(ops::check_plane(image_of(src)));
  ISOBIT_TRY(const auto t, ops::read_transposed_windows(a.attributes, image_of(src), image_of(weights)));
  ISOBIT_RETURN_IF_ERROR(check_kernel(nodes, t.windows, weights));
  const int64_t group = a.attributes.integer("group", 1), channels = weights[1] * group, rows = channels * weights[2];
  const int64_t area = t.image[1] * t.image[2];

  ISOBIT_TRY(ValueId x, nodes.reshape(a.src, {0, src[1], src[2], src[3] * src[4]}, "planes"));
  ISOBIT_TRY(x, nodes.exchange(x, "by_depth"));
  ISOBIT_TRY(x, nodes.reshape(x, {-1, src[1], src[3], src[4]}, "images"));
  ISOBIT_TRY(const ValueId w,
             nodes.reshape(a.weights, {weights[0], weights[1] * weights[2], weights[3], weights[4]}, "weights"));
  Attributes attributes = ops::attributes_of(in_planes(t.windows));
  attributes.set("group", group);
  attributes.set("output_padding", output_padding(t, image_of(src)));
  ISOBIT_TRY(ValueId y, nodes.emit("ConvTranspose", {x, w}, std::move(attributes), "convolved"));
  ISOBIT_TRY(y, nodes.reshape(y, {-1, src[2], rows, area}, "results"));
  ISOBIT_TRY(y, nodes.exchange(y, "by_channel"));
  ISOBIT_TRY(y, nodes.reshape(y, {0, rows, src[2] * area}, "columns"));
  const Attributes depth = ops::attributes_of(in_depth(t.windows));
  Attributes fold = {{"image_shape", t.image}, {"block_shape", depth.integers("kernel_shape", {})}};
  for (const char* name : {"strides", "pads", "dilations"}) fold.set(name, depth.integers(name, {}));
  ISOBIT_TRY(y, nodes.emit("Col2Im", {y}, std::move(fold), a.bias == kNoValue ? "" : "volume"));
  return a.bias == kNoValue ? y : nodes.add_bias(y, a.bias, channels);
}

}  // namespace

Expected<ValueId> conv(Graph& graph, const ConvolutionArguments& a) {
  if (graph.value(a.src).dims.size() > 4) return conv_of_volumes(graph, a);
  std::vector<ValueId> inputs = {a.src, a.weights};
  if (a.bias != kNoValue) inputs.push_back(a.bias);
  return Nodes(graph, a.name, "Conv").emit("Conv", std::move(inputs), a.attributes, "");
}

Expected<ValueId> conv_transpose(Graph& graph, const ConvolutionArguments& a) {
  if (graph.value(a.src).dims.size() > 4) return transposed_conv_of_volumes(graph, a);
  Nodes nodes(graph, a.name, "ConvTranspose");
  ISOBIT_TRY(const ValueId y,
             nodes.emit("ConvTranspose", {a.src, a.weights}, a.attributes, a.bias == kNoValue ? "" : "convolved"));
  return a.bias == kNoValue ? y : nodes.add_bias(y, a.bias, graph.value(y).dims[1]);
}

Expected<ValueId> deform_conv(Graph& graph, const DeformConvArguments& a) {
  Nodes nodes(graph, a.name, "DeformConv");
  const Ints weights = graph.value(a.weights).dims, offset = graph.value(a.offset).dims;
  if (weights.size() != 4 || offset.size() != 4) return nodes.error("weights and offset need rank 4 (two dimensions)");
  if (!all_known(weights) || !all_known(image_of(offset))) {
    return nodes.error("the weights' shape and the places of the result must be known before the run");
  }
  Attributes attributes = a.attributes;
  const auto group_attribute = attributes.items().find("group");
  if (group_attribute != attributes.items().end() && !std::holds_alternative<int64_t>(group_attribute->second)) {
    return nodes.error("attribute 'group' has the wrong type");
  }
  const int64_t group = attributes.integer("group", 1);
  int64_t terms = weights[1], places = offset[2];
  if (group < 1 || weights[0] % group != 0 || __builtin_mul_overflow(terms, weights[2], &terms) ||
      __builtin_mul_overflow(terms, weights[3], &terms) || __builtin_mul_overflow(places, offset[3], &places)) {
    return nodes.error(text_of("weights of shape ", Shape(weights).text(), " in ", group, " groups"));
  }
  Attributes sampling;
  for (const auto& [name, value] : attributes.items()) {
    if (name != "group") sampling.set(name, value);
  }
  if (!sampling.has("kernel_shape")) sampling.set("kernel_shape", Ints{weights[2], weights[3]});
  std::vector<ValueId> inputs = {a.src, a.offset};
  if (a.mask != kNoValue) inputs.push_back(a.mask);
  ISOBIT_TRY(ValueId columns, nodes.emit("isobit.DeformIm2Col", std::move(inputs), std::move(sampling), "columns"));
  ISOBIT_TRY(columns, nodes.reshape(columns, {0, group, terms, places}, "groups"));
  ISOBIT_TRY(const ValueId w, nodes.reshape(a.weights, {group, weights[0] / group, terms}, "weights"));
  ISOBIT_TRY(ValueId y, nodes.emit("MatMul", {w, columns}, {}, "products"));
  ISOBIT_TRY(y, nodes.reshape(y, {0, weights[0], offset[2], offset[3]}, a.bias == kNoValue ? "" : "planes"));
  return a.bias == kNoValue ? y : nodes.add_bias(y, a.bias, weights[0]);
}

}  // namespace isobit::graph::expansions
