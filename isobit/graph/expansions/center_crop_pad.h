// CenterCropPad (ONNX opset 18) as a padding and a slice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

struct CenterCropPadArguments {
  std::string name;
  ValueId x = kNoValue;
  ValueId shape = kNoValue;                       // int32 or int64, one number for each of the axes
  std::optional<std::vector<int64_t>> axes = {};  // all when absent
};

// Along each axis the middle of x, or x in the middle of zeros: of an even number of places as many go on either side,
// an odd one more goes behind. Movement only. Where the shape and the extents are known they are attributes, else
// operands that are computed in the run.
Expected<std::vector<ValueId>> center_crop_pad(Graph& graph, const CenterCropPadArguments& arguments);

}  // namespace isobit::graph::expansions
