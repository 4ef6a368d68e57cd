#include "isobit/base/text.h"
#include "isobit/kernels/detection/regions.h"
#include "isobit/kernels/detection/suppression.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

k::RegionShape region_shape(const KernelSite& site) {
  const std::vector<int64_t>&src = site.in(0).dims, &dst = site.out().dims;
  return {.c = src[1], .h = src[2], .w = src[3], .regions = dst[0], .pooled_h = dst[2], .pooled_w = dst[3]};
}

RunKernel roi_align(const KernelSite& site) {
  const graph::Attributes& a = site.attributes();
  const k::AlignRule rule{.max = a.text("mode", "avg") == "max",
                          .half_pixel = a.text("coordinate_transformation_mode", "half_pixel") == "half_pixel",
                          .sampling_ratio = a.integer("sampling_ratio", 0),
                          .spatial_scale = a.real("spatial_scale", 1)};
  return [rule, shape = region_shape(site)](KernelCall& c) -> Status {
    for (int64_t image : c.in(2).span<int64_t>()) {
      if (image >= 0 && image < c.in(0).shape()[0]) continue;
      return unreadable(text_of("node '", c.node.name, "': a region is of image ", image, ", expected less than ",
                                c.in(0).shape()[0]));
    }
    return by_float_type(c, 0, [&]<class T>(T) {
      k::roi_align(c.ctx, shape, rule, c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<int64_t>(),
                   c.out().data<T>());
    });
  };
}

RunKernel max_roi_pool(const KernelSite& site) {
  return [scale = site.attributes().real("spatial_scale", 1), shape = region_shape(site)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::max_roi_pool(c.ctx, shape, c.in(0).shape()[0], scale, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    });
  };
}

template <class T>
T number_or(const KernelCall& c, int i, T fallback) {
  return c.has(i) ? *c.in(i).data<T>() : fallback;
}

ScratchVector<k::SelectedBox> selected(const KernelCall& c) {
  const Shape& scores = c.in(1).shape();
  const k::SuppressionShape shape{.images = scores[0],
                                  .classes = scores[1],
                                  .boxes = scores[2],
                                  .center_point = c.attributes().integer("center_point_box", 0) != 0,
                                  .most = number_or<int64_t>(c, 2, 0)};
  ScratchVector<k::SelectedBox> boxes;
  by_type(FloatTypes{}, c.in(0).dtype(), [&]<class T>(T) {
    const std::optional<T> least = c.has(4) ? std::optional<T>(*c.in(4).data<T>()) : std::nullopt;
    boxes = k::non_max_suppression<T>(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<T>(), number_or<T>(c, 3, 0), least);
  });
  return boxes;
}

Status non_max_suppression(KernelCall& c) {
  int64_t* to = c.out().data<int64_t>();
  for (const k::SelectedBox& box : selected(c)) {
    *to++ = box.image;
    *to++ = box.class_index;
    *to++ = box.box;
  }
  return {};
}

Expected<std::vector<Shape>> measure_selected(const KernelCall& c) {
  return std::vector<Shape>{Shape{static_cast<int64_t>(selected(c).size()), 3}};
}

}  // namespace

void add_detection_kernels(KernelTable& table) {
  table["RoiAlign"] = with_parameters(roi_align);
  table["MaxRoiPool"] = with_parameters(max_roi_pool);
  table["NonMaxSuppression"] = {.run = non_max_suppression, .measure = measure_selected};
}

}  // namespace isobit::runtime
