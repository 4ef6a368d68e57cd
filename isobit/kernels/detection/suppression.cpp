#include "isobit/kernels/detection/suppression.h"

#include <algorithm>
#include <vector>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/reduce/parallel.h"

namespace isobit::kernels {
namespace {

template <class T>
struct Box {
  T top, bottom, left, right;

  Box(const T* b, bool center_point)
      : top(center_point ? b[1] - b[3] / 2 : std::min(b[0], b[2])),
        bottom(center_point ? b[1] + b[3] / 2 : std::max(b[0], b[2])),
        left(center_point ? b[0] - b[2] / 2 : std::min(b[1], b[3])),
        right(center_point ? b[0] + b[2] / 2 : std::max(b[1], b[3])) {}

  T area() const { return (bottom - top) * (right - left); }
};

template <class T>
bool overlaps(const Box<T>& selected, const Box<T>& box, T threshold) {
  const T h = std::min(selected.bottom, box.bottom) - std::max(selected.top, box.top);
  const T w = std::min(selected.right, box.right) - std::max(selected.left, box.left);
  if (!(h > 0) || !(w > 0)) return false;
  const T common = h * w, first = selected.area(), second = box.area();
  if (!(first > 0) || !(second > 0)) return false;
  const T all = (first + second) - common;
  return all > 0 && common / all > threshold;
}

// The selected boxes of one class of one image.
template <class T>
ScratchVector<int64_t> select(const SuppressionShape& s, const T* boxes, const T* scores, T iou,
                              std::optional<T> score) {
  ScratchVector<int64_t> candidates, selected;
  for (int64_t i = 0; i < s.boxes; ++i) {
    if (scores[i] == scores[i] && (!score || scores[i] > *score)) candidates.push_back(i);
  }
  std::sort(candidates.begin(), candidates.end(),
            [&](int64_t a, int64_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  ScratchVector<Box<T>> taken;
  for (const int64_t i : candidates) {
    if (static_cast<int64_t>(selected.size()) >= s.most) break;
    const Box<T> box(boxes + i * 4, s.center_point);
    if (std::any_of(taken.begin(), taken.end(), [&](const Box<T>& t) { return overlaps(t, box, iou); })) continue;
    selected.push_back(i);
    taken.push_back(box);
  }
  return selected;
}

}  // namespace

// There may be many more classes than boxes that are found: one list is of many classes.
template <class T>
ScratchVector<SelectedBox> non_max_suppression(const KernelContext& ctx, const SuppressionShape& s, const T* boxes,
                                               const T* scores, T iou, std::optional<T> score) {
  if (s.most <= 0 || s.boxes == 0) return {};
  constexpr int64_t kMostParts = 256;
  const int64_t classes = s.images * s.classes, parts = std::min(classes, kMostParts);
  std::vector<ScratchVector<SelectedBox>> by_part(static_cast<size_t>(parts));
  parallel_items(ctx, parts, 64 * s.boxes, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      for (int64_t c = classes * part / parts; c < classes * (part + 1) / parts; ++c) {
        for (const int64_t box : select(s, boxes + c / s.classes * s.boxes * 4, scores + c * s.boxes, iou, score)) {
          by_part[static_cast<size_t>(part)].push_back({c / s.classes, c % s.classes, box});
        }
      }
    }
  });
  ScratchVector<SelectedBox> all;
  for (const auto& some : by_part) all.insert(all.end(), some.begin(), some.end());
  return all;
}

#define ISOBIT_INSTANTIATE(T)                                                                                         \
  template ScratchVector<SelectedBox> non_max_suppression<T>(const KernelContext&, const SuppressionShape&, const T*, \
                                                             const T*, T, std::optional<T>);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
