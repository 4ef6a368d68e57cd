#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

Attributes with_src_shape(GradContext& c, const Attributes& attributes) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  return with(attributes, "src_shape", src);
}

Attributes with_src_shape(GradContext& c) { return with_src_shape(c, c.node.attributes); }

// Where the maxima of these windows over input 0 are, for a pooling that did not say it.
ValueId places_of_maxima(GradContext& c, const Attributes& windows) {
  const std::string name = c.graph.value(c.input(0)).name;
  return c.graph.emit_all("MaxPool", {c.input(0)}, windows, {text_of(name, "/maxima"), text_of(name, "/places")})[1];
}

Values max_pool(GradContext& c) {
  const ValueId places = c.output(1) != kNoValue ? c.output(1) : places_of_maxima(c, c.node.attributes);
  return {c.graph.emit("isobit.MaxPoolGrad", {c.diff(), places}, with_src_shape(c), c.diff_name(0))};
}

// A maximum over whole planes is that of one window.
Values global_max_pool(GradContext& c) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  if (src.size() == 2) return {c.diff()};
  const Attributes window = {{"kernel_shape", std::vector<int64_t>(src.begin() + 2, src.end())}};
  const ValueId places = places_of_maxima(c, window);
  return {c.graph.emit("isobit.MaxPoolGrad", {c.diff(), places}, with_src_shape(c, window), c.diff_name(0))};
}

// Of y = (the sum of |x|^p)^(1/p): sign(x) |x|^(p - 1) times what `share` makes of dy y^(1 - p), which is 0 where y is.
template <class Share>
Values norm(GradContext& c, Share share) {
  const int64_t p = c.node.attributes.integer("p", 2);
  const ValueId x = c.input(0), y = c.output(0);
  const auto power = [&](ValueId base, int64_t exponent) {
    return emit(c, "Pow", {base, constant_like(c.graph, x, static_cast<double>(exponent), "power")});
  };
  ValueId of_windows = c.diff(), of_element = emit(c, "Sign", {x});
  if (p > 1) {
    const ValueId is_zero = emit(c, "Equal", {y, constant_like(c.graph, x, 0, "zero")});
    of_windows = where(c, is_zero, kNoValue, emit(c, "Mul", {c.diff(), power(y, 1 - p)}));
    of_element = p == 2 ? x : emit(c, "Mul", {of_element, power(emit(c, "Abs", {x}), p - 1)});
  }
  return {emit(c, "Mul", {of_element, share(of_windows)})};
}

Values global_lp_pool(GradContext& c) {
  return norm(c, [](ValueId of_planes) { return of_planes; });
}

// The elements of windows of which each is under every tap of its window, and these added up at each place.
Values lp_pool(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  const std::span<const int64_t> image = ops::image_of(src);
  ops::Windows windows = *ops::read_windows(c.node.attributes, image, {});
  int64_t taps = 1, count = 1;
  bool fits = true;
  for (size_t i = 0; i < windows.size(); ++i) {
    ops::AxisWindow& w = windows[i];
    // With ceil_mode the last window may reach beyond the padding: then there is more of it.
    const int64_t windows_here = w.count(image[i]);
    w.pad_end = std::max(w.pad_end, (windows_here - 1) * w.stride + w.reach() - image[i] - w.pad_begin);
    fits = fits && !__builtin_mul_overflow(taps, w.size, &taps) && !__builtin_mul_overflow(count, windows_here, &count);
  }
  const Dims spread = {src[0], src[1], taps, count};
  const Attributes numbers = ops::attributes_of(windows);
  Attributes columns = {{"image_shape", Dims(image.begin(), image.end())},
                        {"block_shape", numbers.integers("kernel_shape", {})}};
  for (const char* name : {"strides", "pads", "dilations"}) columns.set(name, numbers.integers(name, {}));
  fits = fits && ops::check_countable(DType::kFloat64, spread) &&
         ops::read_windows(columns, image, columns.integers("block_shape", {}));
  if (!fits) return c.refuse("no gradient for windows of so many places");
  return norm(c, [&](ValueId of_windows) {
    const ValueId rows = reshaped(c, of_windows, {src[0], src[1], 1, count});
    const ValueId under_taps = emit(c, "Expand", {rows}, {{"shape", spread}});
    return emit(c, "Col2Im", {reshaped(c, under_taps, {src[0], src[1] * taps, count})}, columns);
  });
}

// (src, places, ...): each element from where it went. Places count in planes that may be a corner of the result's.
Values max_unpool(GradContext& c) {
  const Dims natural = *ops::unpooled_dims(c.node.attributes, c.dims(c.input(0))), dst = c.dims(c.output(0));
  ValueId diff = c.diff();
  if (natural != dst) {
    diff = emit(c, "isobit.Block", {diff}, {{"starts", Dims(natural.size(), 0)}, {"counts", natural}});
  }
  Values out(c.node.inputs.size(), kNoValue);
  out[0] = emit(c, "Gather", {reshaped(c, diff, {Shape(natural).elements()}), c.input(1)});
  return out;
}

}  // namespace

void add_pool(Rules& rules) {
  rules["MaxPool"] = max_pool;
  rules["GlobalMaxPool"] = global_max_pool;
  rules["LpPool"] = lp_pool;
  rules["GlobalLpPool"] = global_lp_pool;
  rules["MaxUnpool"] = max_unpool;
  rules.none({"isobit.MaxPoolGrad", "isobit.AveragePoolGrad", "isobit.GlobalAveragePoolGrad"}, kIsGradient);
  rules["AveragePool"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.AveragePoolGrad", {c.diff()}, with_src_shape(c), c.diff_name(0))};
  };
  rules["GlobalAveragePool"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.GlobalAveragePoolGrad", {c.diff()}, with_src_shape(c), c.diff_name(0))};
  };
}

}  // namespace isobit::graph::autograd
