#include "isobit/graph/expansions/center_crop_pad.h"

#include <algorithm>
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/op.h"

namespace isobit::graph::expansions {
namespace {

using Ints = std::vector<int64_t>;

// Non-negative and each once.
Ints axes_of(Builder& b, const CenterCropPadArguments& a) {
  const int rank = b.rank(a.x);
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (!a.axes) return axes;
  axes.clear();
  for (int64_t axis : *a.axes) {
    const auto normal = normalized_axis(axis, rank);
    if (!normal) {
      b.fail(normal.error().message);
      return {};
    }
    b.require(std::find(axes.begin(), axes.end(), *normal) == axes.end(), text_of("axis ", axis, " appears twice"));
    axes.push_back(*normal);
  }
  return axes;
}

// The wanted extents when they and those of x are known.
std::optional<Ints> known_extents(const Builder& b, const CenterCropPadArguments& a, const Ints& axes) {
  const Tensor* shape = b.constant_of(a.shape);
  if (shape == nullptr) return std::nullopt;
  Ints extents;
  by_type(Types<int32_t, int64_t>{}, shape->dtype(),
          [&]<class T>(T) { extents.assign(shape->span<T>().begin(), shape->span<T>().end()); });
  for (int64_t axis : axes) {
    if (b.dim(a.x, static_cast<int>(axis)) < 0) return std::nullopt;
  }
  return extents;
}

ValueId by_attributes(Builder& b, const CenterCropPadArguments& a, const Ints& axes, const Ints& extents) {
  if (!b.require(extents.size() == axes.size(), text_of(extents.size(), " extents for ", axes.size(), " axes"))) {
    return kNoValue;
  }
  Ints before, after, starts, ends, steps;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t have = b.dim(a.x, static_cast<int>(axes[i])), want = extents[i];
    if (!b.require(want >= 0, text_of("an extent of ", want, "; it must not be negative"))) return kNoValue;
    const int64_t pad = std::max<int64_t>(want - have, 0), cut = std::max<int64_t>(have - want, 0);
    before.push_back(pad / 2);
    after.push_back(pad - pad / 2);
    starts.push_back(cut / 2);
    ends.push_back(cut / 2 + want);
    steps.push_back(1);
  }
  ValueId y = a.x;
  const bool pads = std::any_of(after.begin(), after.end(), [](int64_t n) { return n > 0; });
  before.insert(before.end(), after.begin(), after.end());
  if (pads) y = b.node("Pad", {y}, {{"pads", before}, {"axes", axes}}, "padded");
  return b.node("Slice", {y}, {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}}, "y");
}

// As ONNX's function says it, on small vectors of integers.
ValueId by_operands(Builder& b, const CenterCropPadArguments& a, const Ints& axes) {
  const auto extents_of = [&](ValueId v) {
    return b.gather(b.unary("Shape", v, "shape"), b.integers(axes), 0, "extents");
  };
  const ValueId two = b.integer(2), axis_numbers = b.integers(axes);
  const ValueId wanted = b.cast(a.shape, DType::kInt64, "wanted"), found = extents_of(a.x);
  const ValueId pad = b.sub(b.node("Max", {found, wanted}, {}, "larger"), found, "pad");
  const ValueId before = b.div(pad, two, "before");
  const ValueId pads = b.concat({before, b.sub(pad, before, "after")}, 0, "pads");
  const ValueId padded = b.node("Pad", {a.x, pads, kNoValue, axis_numbers}, {}, "padded");
  const ValueId starts = b.div(b.sub(extents_of(padded), wanted, "cut"), two, "starts");
  const ValueId ends = b.add(starts, wanted, "ends");
  return b.node("Slice", {padded, starts, ends, axis_numbers}, {}, "y");
}

}  // namespace

Expected<std::vector<ValueId>> center_crop_pad(Graph& graph, const CenterCropPadArguments& a) {
  Builder b(graph, "CenterCropPad", a.name);
  b.require(a.x != kNoValue, "the input is absent");
  b.require_ranks({a.x, a.shape});
  b.require(a.shape != kNoValue && (b.dtype(a.shape) == DType::kInt32 || b.dtype(a.shape) == DType::kInt64) &&
                b.rank(a.shape) == 1,
            "the shape is neither int32 nor int64 of rank 1");
  if (b.failed()) return b.finish({});
  const Ints axes = axes_of(b, a);
  b.require(!axes.empty(), "there are no axes");
  if (b.failed()) return b.finish({});
  const std::optional<Ints> extents = known_extents(b, a, axes);
  return b.finish({extents ? by_attributes(b, a, axes, *extents) : by_operands(b, a, axes)});
}

}  // namespace isobit::graph::expansions
