// What the parameters of operators that move elements mean on the axes of a tensor: for shape inference, gradients and
// whoever binds a kernel. All numbers may come from a stranger's model; a dimension of -1 is not known yet.
//
// Errors are kUnreadable and say which number does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/op.h"
#include "isobit/tensor/slice_range.h"

namespace isobit::graph::ops {

using Numbers = std::vector<int64_t>;

// The axes in 0..rank-1 that these name, in their order, each named once; all of them, ascending, where there is none.
Expected<std::vector<size_t>> distinct_axes(const std::optional<Numbers>& axes, size_t rank);

// Slice: a range for every axis. One whose dimension is not known has count -1.
Expected<std::vector<SliceRange>> slice_ranges(const Numbers& dims, const Numbers& starts, const Numbers& ends,
                                               const std::optional<Numbers>& axes, const std::optional<Numbers>& steps);

// Pad: how much of every axis is added (or, below 0, taken away) before its first element and behind its last one.
struct Pads {
  Numbers before, after;
};
Expected<Pads> pads_of_axes(size_t rank, const Numbers& pads, const std::optional<Numbers>& axes);

// CenterCropPad: what brings each of these axes to its extent, an odd number being smaller before than behind. Of an
// axis whose dimension is not known, nothing.
Expected<Pads> centering_pads(const Numbers& dims, const Numbers& extents, const std::optional<Numbers>& axes);

// Split: the extent of each of `parts` outputs on an axis of `dim` elements; without sizes, equal ones, of which the
// last is smaller where they do not divide dim. -1 where neither sizes nor dim are known. REQUIRES parts >= 1.
Expected<Numbers> split_sizes(int64_t dim, size_t parts, const std::optional<Numbers>& sizes);

// Parameter `name` of a node that is read where its operands are constants (in gradients): what shape_parameter says.
// REQUIRES that shape inference has accepted the node.
std::optional<Numbers> known_parameter(const Graph& graph, const Node& node, const char* name, int input);

}  // namespace isobit::graph::ops
