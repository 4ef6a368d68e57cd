#include "isobit/graph/expansions/convolution.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::expansions {
namespace {

using Ints = std::vector<int64_t>;
using ops::AxisWindow;
using ops::image_of;
using ops::Windows;

// As errors begin.
std::string place_of(const std::string& name, const char* op) { return text_of("node '", name, "' (", op, "): "); }

// [n, c, d, places] <-> [n, d, c, places]
ValueId exchange(Builder& b, ValueId v, const std::string& what) { return b.transpose(v, {0, 2, 1, 3}, what); }

// A number of its own added to each of the channels; without a bias, the value as it is.
ValueId with_bias(Builder& b, ValueId v, ValueId bias, int64_t channels) {
  if (bias == kNoValue || b.failed()) return v;
  Ints shape(b.dims(v).size() - 1, 1);
  shape[0] = channels;
  return b.add(v, b.reshape_as_written(bias, std::move(shape), "bias"), kResult);
}

ValueId weights_of_planes(Builder& b, ValueId w, const Ints& dims) {
  return b.reshape_as_written(w, {dims[0], dims[1] * dims[2], dims[3], dims[4]}, "weights");
}

// Of a node whose last input may be absent.
Values operands(ValueId a, ValueId b, ValueId last) { return last == kNoValue ? Values{a, b} : Values{a, b, last}; }

// Windows along the first of three axes, and along the other two.
Windows in_depth(const Windows& windows) { return {windows[0], AxisWindow{}, AxisWindow{}}; }
Windows in_planes(const Windows& windows) { return {windows[1], windows[2]}; }

bool all_known(std::span<const int64_t> extents) {
  return std::all_of(extents.begin(), extents.end(), [](int64_t d) { return d >= 0; });
}

// What a convolution along three axes is refused for, before its windows are read.
Status check_volumes(const std::string& place, const Ints& src, const Ints& weights, const Attributes& attributes) {
  if (src.size() != 5 || weights.size() != 5) return unreadable(place + "source and weights need one rank, 3 to 5");
  if (!all_known(std::span(src).subspan(1)) || !all_known(weights)) {
    return unreadable(place + "along three axes every extent but the number of images must be known before the run");
  }
  const int64_t group = attributes.integer("group", 1);
  if (group < 1 || weights[0] % group != 0 || std::find(weights.begin(), weights.end(), 0) != weights.end()) {
    return unreadable(text_of(place, "weights of shape ", Shape(weights).text(), " in ", group, " groups"));
  }
  int64_t elements = 1;
  for (int64_t d : weights) {
    if (__builtin_mul_overflow(elements, d, &elements)) return unreadable(place + "the weights are too large");
  }
  return {};
}

Status check_kernel(const std::string& place, const Windows& windows, const Ints& weights) {
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].size != weights[i + 2]) return unreadable(place + "kernel_shape differs from the weights' shape");
  }
  return {};
}

// The attributes that an inner operator checks are checked here as well, since none of them sees all.
Status check_attributes(const std::string& place, const Attributes& attributes, bool transposed) {
  for (const auto& [name, value] : attributes.items()) {
    const bool ints = name == "kernel_shape" || name == "strides" || name == "pads" || name == "dilations" ||
                      (transposed && (name == "output_padding" || name == "output_shape"));
    const bool fits = ints                 ? std::holds_alternative<Ints>(value)
                      : name == "group"    ? std::holds_alternative<int64_t>(value)
                      : name == "auto_pad" ? std::holds_alternative<std::string>(value)
                                           : false;
    if (!fits) return unreadable(text_of(place, "attribute '", name, "' is not known, or has the wrong type"));
  }
  return {};
}

Expected<Values> conv_of_volumes(Graph& graph, const ConvolutionArguments& a) {
  const std::string place = place_of(a.name, "Conv");
  ISOBIT_RETURN_IF_ERROR(check_attributes(place, a.attributes, false));
  const Ints src = graph.value(a.src).dims, weights = graph.value(a.weights).dims;
  ISOBIT_RETURN_IF_ERROR(check_volumes(place, src, weights, a.attributes));
  ISOBIT_RETURN_IF_ERROR(ops::check_plane(image_of(src)));
  ISOBIT_TRY(const Windows windows, ops::read_windows(a.attributes, image_of(src), image_of(weights)));
  ISOBIT_RETURN_IF_ERROR(check_kernel(place, windows, weights));
  ISOBIT_RETURN_IF_ERROR(ops::check_counts(windows, image_of(src)));
  const Ints dst = ops::dims_of_windows(-1, weights[0], windows, image_of(src));
  int64_t channels = 0;  // of the image of one depth
  if (__builtin_mul_overflow(src[1], weights[2], &channels)) return unreadable(place + "the source is too large");

  Builder b(graph, "", a.name);
  ValueId x = b.node("isobit.Im2Col", {a.src}, ops::attributes_of(in_depth(windows)), "depths");
  x = exchange(b, b.reshape_as_written(x, {0, channels, dst[2], src[3] * src[4]}, "planes"), "by_depth");
  x = b.reshape_as_written(x, {-1, channels, src[3], src[4]}, "images");
  const ValueId w = weights_of_planes(b, a.weights, weights);
  Attributes attributes = ops::attributes_of(in_planes(windows));
  attributes.set("group", a.attributes.integer("group", 1));
  ValueId y = b.node("Conv", operands(x, w, a.bias), std::move(attributes), "convolved");
  y = exchange(b, b.reshape_as_written(y, {-1, dst[2], dst[1], dst[3] * dst[4]}, "results"), "by_channel");
  return b.finish({b.reshape_as_written(y, {0, dst[1], dst[2], dst[3], dst[4]}, kResult)});
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

Expected<Values> transposed_conv_of_volumes(Graph& graph, const ConvolutionArguments& a) {
  const std::string place = place_of(a.name, "ConvTranspose");
  ISOBIT_RETURN_IF_ERROR(check_attributes(place, a.attributes, true));
  const Ints src = graph.value(a.src).dims, weights = graph.value(a.weights).dims;
  ISOBIT_RETURN_IF_ERROR(check_volumes(place, src, weights, a.attributes));
  ISOBIT_RETURN_IF_ERROR(ops::check_plane(image_of(src)));
  ISOBIT_TRY(const auto t, ops::read_transposed_windows(a.attributes, image_of(src), image_of(weights)));
  ISOBIT_RETURN_IF_ERROR(check_kernel(place, t.windows, weights));
  const int64_t group = a.attributes.integer("group", 1), channels = weights[1] * group, rows = channels * weights[2];
  const int64_t area = t.image[1] * t.image[2];

  Builder b(graph, "", a.name);
  ValueId x = b.reshape_as_written(a.src, {0, src[1], src[2], src[3] * src[4]}, "planes");
  x = b.reshape_as_written(exchange(b, x, "by_depth"), {-1, src[1], src[3], src[4]}, "images");
  const ValueId w = weights_of_planes(b, a.weights, weights);
  Attributes attributes = ops::attributes_of(in_planes(t.windows));
  attributes.set("group", group);
  attributes.set("output_padding", output_padding(t, image_of(src)));
  ValueId y = b.node("ConvTranspose", {x, w}, std::move(attributes), "convolved");
  y = exchange(b, b.reshape_as_written(y, {-1, src[2], rows, area}, "results"), "by_channel");
  y = b.reshape_as_written(y, {0, rows, src[2] * area}, "columns");
  const Attributes depth = ops::attributes_of(in_depth(t.windows));
  Attributes fold = {{"image_shape", t.image}, {"block_shape", depth.integers("kernel_shape", {})}};
  for (const char* name : {"strides", "pads", "dilations"}) fold.set(name, depth.integers(name, {}));
  y = b.node("Col2Im", {y}, std::move(fold), a.bias == kNoValue ? kResult : "volume");
  return b.finish({with_bias(b, y, a.bias, channels)});
}

}  // namespace

Expected<Values> conv(Graph& graph, const ConvolutionArguments& a) {
  if (graph.value(a.src).dims.size() > 4) return conv_of_volumes(graph, a);
  Builder b(graph, "", a.name);
  return b.finish({b.node("Conv", operands(a.src, a.weights, a.bias), a.attributes, kResult)});
}

Expected<Values> conv_transpose(Graph& graph, const ConvolutionArguments& a) {
  if (graph.value(a.src).dims.size() > 4) return transposed_conv_of_volumes(graph, a);
  Builder b(graph, "", a.name);
  const ValueId y =
      b.node("ConvTranspose", {a.src, a.weights}, a.attributes, a.bias == kNoValue ? kResult : "convolved");
  return b.finish({with_bias(b, y, a.bias, b.dim(y, 1))});
}

Expected<Values> deform_conv(Graph& graph, const DeformConvArguments& a) {
  const std::string place = place_of(a.name, "DeformConv");
  const Ints weights = graph.value(a.weights).dims, offset = graph.value(a.offset).dims;
  if (weights.size() != 4 || offset.size() != 4)
    return unreadable(place + "weights and offset need rank 4 (two dimensions)");
  if (!all_known(weights) || !all_known(image_of(offset))) {
    return unreadable(place + "the weights' shape and the places of the result must be known before the run");
  }
  Attributes attributes = a.attributes;
  const auto group_attribute = attributes.items().find("group");
  if (group_attribute != attributes.items().end() && !std::holds_alternative<int64_t>(group_attribute->second)) {
    return unreadable(place + "attribute 'group' has the wrong type");
  }
  const int64_t group = attributes.integer("group", 1);
  int64_t terms = weights[1], places = offset[2];
  if (group < 1 || weights[0] % group != 0 || __builtin_mul_overflow(terms, weights[2], &terms) ||
      __builtin_mul_overflow(terms, weights[3], &terms) || __builtin_mul_overflow(places, offset[3], &places)) {
    return unreadable(text_of(place, "weights of shape ", Shape(weights).text(), " in ", group, " groups"));
  }
  Attributes sampling;
  for (const auto& [name, value] : attributes.items()) {
    if (name != "group") sampling.set(name, value);
  }
  if (!sampling.has("kernel_shape")) sampling.set("kernel_shape", Ints{weights[2], weights[3]});
  Builder b(graph, "", a.name);
  ValueId columns = b.node("isobit.DeformIm2Col", operands(a.src, a.offset, a.mask), std::move(sampling), "columns");
  columns = b.reshape_as_written(columns, {0, group, terms, places}, "groups");
  const ValueId w = b.reshape_as_written(a.weights, {group, weights[0] / group, terms}, "weights");
  const ValueId products = b.node("MatMul", {w, columns}, {}, "products");
  const ValueId y =
      b.reshape_as_written(products, {0, weights[0], offset[2], offset[3]}, a.bias == kNoValue ? kResult : "planes");
  return b.finish({with_bias(b, y, a.bias, weights[0])});
}

}  // namespace isobit::graph::expansions
