#include "isobit/base/text.h"
#include "isobit/kernels/detection/suppression.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/kernels/region_rules.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

// Every number of input 2 is one of n images.
Status check_images(const KernelCall& c, int64_t n) {
  for (int64_t image : c.in(2).span<int64_t>()) {
    if (image >= 0 && image < n) continue;
    return unreadable(text_of("node '", c.node.name, "': a region is of image ", image, ", expected less than ", n));
  }
  return {};
}

RunKernel roi_align_grad(const KernelSite& site) {
  return [rule = align_rule(site.attributes()),
          shape = region_shape(site.out().dims, site.in(0).dims)](KernelCall& c) -> Status {
    const int64_t n = c.out().shape()[0];
    ISOBIT_RETURN_IF_ERROR(check_images(c, n));
    return by_float_type(c, 0, [&]<class T>(T) {
      k::roi_align_grad(c.ctx, shape, rule, n, c.in(1).data<T>(), c.in(2).data<int64_t>(), c.in(0).data<T>(),
                        c.out().data<T>());
    });
  };
}

RunKernel roi_align(const KernelSite& site) {
  return [rule = align_rule(site.attributes()),
          shape = region_shape(site.in(0).dims, site.out().dims)](KernelCall& c) -> Status {
    ISOBIT_RETURN_IF_ERROR(check_images(c, c.in(0).shape()[0]));
    return by_float_type(c, 0, [&]<class T>(T) {
      k::roi_align(c.ctx, shape, rule, c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<int64_t>(),
                   c.out().data<T>());
    });
  };
}

RunKernel max_roi_pool(const KernelSite& site) {
  return [scale = site.attributes().real("spatial_scale", 1),
          shape = region_shape(site.in(0).dims, site.out().dims)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::max_roi_pool(c.ctx, shape, c.in(0).shape()[0], scale, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel max_roi_pool_grad(const KernelSite& site) {
  return [scale = site.attributes().real("spatial_scale", 1),
          shape = region_shape(site.in(1).dims, site.in(0).dims)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::max_roi_pool_grad(c.ctx, shape, c.in(1).shape()[0], scale, c.in(1).data<T>(), c.in(2).data<T>(),
                           c.in(0).data<T>(), c.out().data<T>());
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
  table["isobit.RoiAlignGrad"] = with_parameters(roi_align_grad);
  table["MaxRoiPool"] = with_parameters(max_roi_pool);
  table["isobit.MaxRoiPoolGrad"] = with_parameters(max_roi_pool_grad);
  table["NonMaxSuppression"] = {.run = non_max_suppression, .measure = measure_selected};
}

}  // namespace isobit::runtime
