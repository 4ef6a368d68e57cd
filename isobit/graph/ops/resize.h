// What a Resize node makes of the axes of its source.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "isobit/graph/op.h"

namespace isobit::graph::ops {

// The parameters that ONNX has as inputs: as attributes, or constants behind the inputs. nullopt: absent, or given as a
// tensor without elements, as ONNX has it.
struct ResizeInputs {
  std::optional<std::vector<double>> roi, scales;
  std::optional<std::vector<int64_t>> sizes;
};
// constant(i): the constant behind input i, or null. REQUIRES that shape inference accepts what is there.
ResizeInputs resize_inputs(const Attributes& attributes, const std::function<const Tensor*(int)>& constant);

struct ResizedAxis {
  int64_t out = -1;  // -1: not known
  // As real numbers: the factor, the extent of the result before it is rounded, and the part of the axis that is
  // resized (coordinate_transformation_mode tf_crop_and_resize alone).
  double scale = 1, length = 1;
  double begin = 0, end = 1;
};

// One for each axis of src, whose extents may be unknown (-1). Of `scales`, out is the extent times the scale in
// float32, rounded down; with keep_aspect_ratio_policy one scale is that of all axes and out is rounded to the nearest
// integer, halves up. Errors: parameters that do not fit.
Expected<std::vector<ResizedAxis>> read_resize(const Attributes& attributes, const std::vector<int64_t>& src,
                                               const ResizeInputs& inputs);

}  // namespace isobit::graph::ops
