#include "isobit/graph/ops/resize.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::ops {
namespace {

constexpr double kMostExtent = 0x1p62;
constexpr size_t kMostFiltered = 5;  // axes along which several places are combined

Status expect_one_of(const Attributes& a, const char* name, const char* fallback,
                     std::initializer_list<const char*> texts) {
  const std::string text = a.text(name, fallback);
  if (std::find(texts.begin(), texts.end(), text) != texts.end()) return {};
  return unreadable(text_of("attribute '", name, "' is '", text, "', which is not known"));
}

bool crops(const Attributes& a) {
  return a.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
}

Status check_modes(const Attributes& a) {
  ISOBIT_RETURN_IF_ERROR(expect_one_of(a, "mode", "nearest", {"nearest", "linear", "cubic"}));
  ISOBIT_RETURN_IF_ERROR(expect_one_of(a, "coordinate_transformation_mode", "half_pixel",
                                       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                        "asymmetric", "tf_crop_and_resize"}));
  ISOBIT_RETURN_IF_ERROR(expect_one_of(a, "nearest_mode", "round_prefer_floor",
                                       {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  ISOBIT_RETURN_IF_ERROR(
      expect_one_of(a, "keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"}));
  if (a.integer("antialias", 0) != 0 && a.text("mode", "nearest") == "nearest") {
    return unreadable("antialias needs mode linear or cubic");
  }
  if (!std::isfinite(a.real("cubic_coeff_a", -0.75))) return unreadable("cubic_coeff_a is not finite");
  return {};
}

Expected<std::vector<size_t>> resized_axes(const Attributes& a, size_t rank) {
  std::vector<size_t> axes;
  if (!a.has("axes")) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  for (int64_t given : a.integers("axes", {})) {
    ISOBIT_TRY(const int64_t axis, normalized_axis(given, static_cast<int>(rank)));
    if (std::find(axes.begin(), axes.end(), static_cast<size_t>(axis)) != axes.end()) {
      return unreadable(text_of("attribute 'axes' has axis ", axis, " twice"));
    }
    axes.push_back(static_cast<size_t>(axis));
  }
  return axes;
}

Status check_numbers(const char* name, const std::vector<double>& numbers, size_t count, double above) {
  if (numbers.size() != count) return unreadable(text_of("'", name, "' has ", numbers.size(), " numbers, not ", count));
  for (double x : numbers) {
    if (!(x > above) || !std::isfinite(x))
      return unreadable(text_of("'", name, "' has ", x, ", which is out of range"));
  }
  return {};
}

Status scale_axis(int64_t in, float scale, ResizedAxis& axis) {
  const double part = axis.end - axis.begin;
  axis.scale = static_cast<double>(scale);
  if (in < 0) return {};
  const float extent = static_cast<float>(in) * static_cast<float>(part) * scale;
  if (!(extent >= 0) || static_cast<double>(extent) > kMostExtent) {
    return unreadable(text_of("an axis of ", in, " places scaled by ", scale, " is too large, or its part negative"));
  }
  axis.out = static_cast<int64_t>(std::floor(extent));
  axis.length = static_cast<double>(in) * part * axis.scale;
  return {};
}

// One scale for all axes: the least, or the largest.
void keep_aspect_ratio(const std::vector<int64_t>& src, const std::vector<size_t>& axes,
                       const std::vector<int64_t>& sizes, bool least, std::vector<ResizedAxis>& all) {
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (src[axes[i]] < 1) return;  // not known: nothing is
    const double own = static_cast<double>(sizes[i]) / static_cast<double>(src[axes[i]]);
    scale = i == 0 ? own : least ? std::min(scale, own) : std::max(scale, own);
  }
  for (size_t axis : axes) {
    all[axis].scale = scale;
    all[axis].length = scale * static_cast<double>(src[axis]);
    all[axis].out = static_cast<int64_t>(std::min(std::floor(all[axis].length + 0.5), kMostExtent));
  }
}

Status size_axes(const Attributes& a, const std::vector<int64_t>& src, const std::vector<size_t>& axes,
                 const std::vector<int64_t>& sizes, std::vector<ResizedAxis>& all) {
  if (sizes.size() != axes.size()) {
    return unreadable(text_of("'sizes' has ", sizes.size(), " numbers for ", axes.size(), " axes"));
  }
  for (int64_t size : sizes) {
    if (size < 0 || static_cast<double>(size) > kMostExtent) {
      return unreadable(text_of("'sizes' has ", size, ", which is no extent"));
    }
  }
  const std::string policy = a.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") {
    keep_aspect_ratio(src, axes, sizes, policy == "not_larger", all);
    return {};
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedAxis& axis = all[axes[i]];
    axis.out = sizes[i];
    axis.length = static_cast<double>(sizes[i]);
    if (src[axes[i]] > 0) axis.scale = axis.length / static_cast<double>(src[axes[i]]);
  }
  return {};
}

// Each place of the result is made of some of each axis' places: their product is the time that it takes. An axis that
// stays as it is has one. What is not known yet is looked at in the run.
Status check_work(const Attributes& a, const std::vector<int64_t>& src, const std::vector<ResizedAxis>& all) {
  if (a.text("mode", "nearest") == "nearest") return {};
  size_t resized = 0;
  for (size_t i = 0; i < src.size(); ++i) {
    const ResizedAxis& axis = all[i];
    if (src[i] < 0 || (axis.out == src[i] && axis.scale == 1 && !crops(a))) continue;
    ++resized;
    // A filter reaches as far as the scale says. All of them together reach over the axis a few times, unless a part
    // that is much larger than the axis is asked for.
    const bool reaches_beyond = 4 * axis.scale * static_cast<double>(src[i]) < static_cast<double>(axis.out);
    if (a.integer("antialias", 0) != 0 && reaches_beyond) {
      return unreadable(
          text_of("antialias over an axis of ", src[i], " places that scaled by ", axis.scale, " has ", axis.out));
    }
  }
  if (resized <= kMostFiltered) return {};
  return unreadable(
      text_of(resized, " axes are resized together, expected at most ", kMostFiltered, " in mode linear or cubic"));
}

#define ISOBIT_RESIZE_ATTRIBUTES                                                                                       \
  {"antialias", kInt}, {"axes", kInts}, {"coordinate_transformation_mode", kText}, {"cubic_coeff_a", kReal},           \
      {"exclude_outside", kInt}, {"extrapolation_value", kReal}, {"keep_aspect_ratio_policy", kText}, {"mode", kText}, \
      {"nearest_mode", kText}, {"roi", kReals}, {"scales", kReals}, {                                                  \
    "sizes", kInts                                                                                                     \
  }

std::vector<int64_t> extents_of(const std::vector<ResizedAxis>& axes) {
  std::vector<int64_t> dims;
  for (const ResizedAxis& axis : axes) dims.push_back(axis.out);
  return dims;
}

Status check_type(const InferContext& c) {
  if (c.attributes().text("mode", "nearest") == "nearest") return {};
  return c.expect_float(0);
}

// Whether roi, scales or sizes is an input that is not known yet. What crops nothing does not look at roi.
Expected<bool> waits_for_inputs(const InferContext& c) {
  bool waits = false;
  for (int i : {1, 2}) {
    if (!c.has_input(i)) continue;
    ISOBIT_RETURN_IF_ERROR(c.expect_float(i));
    if (i == 2 || crops(c.attributes())) waits = waits || c.constant(i) == nullptr;
  }
  ISOBIT_TRY(const auto sizes, shape_parameter(c, "sizes", 3));
  return waits || (!sizes && has_parameter(c, "sizes", 3));
}

// (src[, roi][, scales][, sizes]) -> dst
Status infer_resize(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_RESIZE_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(check_modes(c.attributes()));
  ISOBIT_RETURN_IF_ERROR(check_type(c));
  ISOBIT_TRY(const bool waits, waits_for_inputs(c));
  if (waits) {
    ISOBIT_TRY(const auto axes, resized_axes(c.attributes(), c.dims(0).size()));
    std::vector<int64_t> dims = c.dims(0);
    for (size_t axis : axes) dims[axis] = -1;
    c.set_output(0, c.input(0).dtype, std::move(dims));
    return {};
  }
  const ResizeInputs inputs = resize_inputs(c.attributes(), [&](int i) { return c.constant_if_known(i); });
  ISOBIT_TRY(const auto axes, read_resize(c.attributes(), c.dims(0), inputs));
  c.set_output(0, c.input(0).dtype, extents_of(axes));
  return {};
}

// diff_dst -> diff_src of shape src_shape; roi, scales and sizes are attributes.
Status infer_resize_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_RESIZE_ATTRIBUTES, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(check_modes(c.attributes()));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  const ResizeInputs inputs = resize_inputs(c.attributes(), [](int) { return nullptr; });
  ISOBIT_TRY(const auto axes, read_resize(c.attributes(), src, inputs));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, extents_of(axes)));
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

// Of an attribute, else of a constant (float32 or float64; null: none).
std::optional<std::vector<double>> real_numbers(const Attributes& attributes, const char* name,
                                                const Tensor* constant) {
  if (attributes.has(name)) return attributes.reals(name, {});
  if (constant == nullptr) return std::nullopt;
  if (constant->dtype() == DType::kFloat64) {
    return std::vector<double>(constant->span<double>().begin(), constant->span<double>().end());
  }
  return std::vector<double>(constant->span<float>().begin(), constant->span<float>().end());
}

}  // namespace

ResizeInputs resize_inputs(const Attributes& attributes, const std::function<const Tensor*(int)>& constant) {
  ResizeInputs inputs;
  inputs.roi = real_numbers(attributes, "roi", constant(1));
  inputs.scales = real_numbers(attributes, "scales", constant(2));
  inputs.sizes = parameter_numbers(attributes, "sizes", constant(3));
  if (inputs.roi && inputs.roi->empty()) inputs.roi.reset();
  if (inputs.scales && inputs.scales->empty()) inputs.scales.reset();
  if (inputs.sizes && inputs.sizes->empty()) inputs.sizes.reset();
  return inputs;
}

Expected<std::vector<ResizedAxis>> read_resize(const Attributes& a, const std::vector<int64_t>& src,
                                               const ResizeInputs& inputs) {
  if (src.empty()) return unreadable("the source needs rank 1 or more");
  ISOBIT_TRY(const std::vector<size_t> axes, resized_axes(a, src.size()));
  if (inputs.scales.has_value() == inputs.sizes.has_value()) {
    return unreadable("one of 'scales' and 'sizes' is needed, and not both");
  }
  std::vector<ResizedAxis> all(src.size());
  for (size_t i = 0; i < src.size(); ++i) {
    all[i].out = src[i];
    all[i].length = static_cast<double>(src[i]);
  }
  if (crops(a)) {
    const double lowest = -std::numeric_limits<double>::infinity();
    ISOBIT_RETURN_IF_ERROR(check_numbers("roi", inputs.roi.value_or(std::vector<double>{}), 2 * axes.size(), lowest));
    for (size_t i = 0; i < axes.size(); ++i) {
      all[axes[i]].begin = (*inputs.roi)[i];
      all[axes[i]].end = (*inputs.roi)[axes.size() + i];
    }
  }
  for (size_t axis : axes) all[axis].out = -1;
  if (inputs.scales) {
    ISOBIT_RETURN_IF_ERROR(check_numbers("scales", *inputs.scales, axes.size(), 0));
    for (size_t i = 0; i < axes.size(); ++i) {
      ISOBIT_RETURN_IF_ERROR(scale_axis(src[axes[i]], static_cast<float>((*inputs.scales)[i]), all[axes[i]]));
    }
  } else {
    ISOBIT_RETURN_IF_ERROR(size_axes(a, src, axes, *inputs.sizes, all));
  }
  for (size_t i = 0; i < src.size(); ++i) {
    if (src[i] == 0 && all[i].out > 0) return unreadable("an axis without places has none to be resized");
  }
  ISOBIT_RETURN_IF_ERROR(check_work(a, src, all));
  return all;
}

void add_resize(std::vector<OpDef>& defs) {
  add_ordered(defs, {.name = "Resize",
                     .max_inputs = 4,
                     .optional_inputs = {.some = {1, 2, 3}},
                     .infer = infer_resize,
                     .outputs = {output_by(ElementRule::kSampled)}});
  add_ordered(defs,
              {.name = "isobit.ResizeGrad", .infer = infer_resize_grad, .outputs = {output_by(ElementRule::kSampled)}});
}

}  // namespace isobit::graph::ops
