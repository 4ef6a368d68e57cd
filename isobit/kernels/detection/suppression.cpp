#include "isobit/kernels/detection/suppression.h"

#include <algorithm>

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
std::vector<int64_t> select(const SuppressionShape& s, const T* boxes, const T* scores, T iou, std::optional<T> score) {
  std::vector<int64_t> candidates, selected;
  for (int64_t i = 0; i < s.boxes; ++i) {
    if (scores[i] == scores[i] && (!score || scores[i] > *score)) candidates.push_back(i);
  }
  std::sort(candidates.begin(), candidates.end(),
            [&](int64_t a, int64_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  std::vector<Box<T>> taken;
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

template <class T>
std::vector<SelectedBox> non_max_suppression(const KernelContext& ctx, const SuppressionShape& s, const T* boxes,
                                             const T* scores, T iou, std::optional<T> score) {
  if (s.most <= 0) return {};
  std::vector<std::vector<int64_t>> by_class(static_cast<size_t>(s.images * s.classes));
  parallel_items(ctx, s.images * s.classes, 64 * s.boxes, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      by_class[static_cast<size_t>(c)] =
          select(s, boxes + c / s.classes * s.boxes * 4, scores + c * s.boxes, iou, score);
    }
  });
  std::vector<SelectedBox> all;
  for (size_t c = 0; c < by_class.size(); ++c) {
    const auto n = static_cast<int64_t>(c);
    for (const int64_t box : by_class[c]) all.push_back({n / s.classes, n % s.classes, box});
  }
  return all;
}

#define ISOBIT_INSTANTIATE(T)                                                                                       \
  template std::vector<SelectedBox> non_max_suppression<T>(const KernelContext&, const SuppressionShape&, const T*, \
                                                           const T*, T, std::optional<T>);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
