// Of boxes that overlap, those with the highest scores (ONNX NonMaxSuppression-11). Determinism class: ordered-1.
#pragma once

#include <cstdint>
#include <optional>

#include "isobit/base/scratch.h"
#include "isobit/kernels/context.h"

namespace isobit::kernels {

struct SuppressionShape {
  int64_t images = 0, classes = 0, boxes = 0;
  bool center_point = false;  // a box is (x of the centre, y, width, height), else (y1, x1, y2, x2) of two corners
  int64_t most = 0;           // boxes of a class in an image
};

struct SelectedBox {
  int64_t image, class_index, box;
};

// boxes [images, boxes, 4], scores [images, classes, boxes]. For each image and class, ascending: its boxes by
// descending score, the lower number first among equals, without those whose score is NaN or not above `score`, if that
// is given. One after another is selected, unless its overlap with one that was is above `iou`, until there are `most`.
//
// The overlap, in T, each operation rounded: with [lo, hi] = the corners in order (centre - size / 2, centre + size /
// 2) along each axis, h = min(hi) - max(lo) down and w across; none where one is not above 0; area of a box = (hi - lo)
// down times across, none where one is not above 0; (h * w) / ((area of the selected one + area) - h * w), none where
// that sum is not above 0.
template <class T>
ScratchVector<SelectedBox> non_max_suppression(const KernelContext&, const SuppressionShape& shape, const T* boxes,
                                               const T* scores, T iou, std::optional<T> score);

}  // namespace isobit::kernels
