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

Status no_such_image(const KernelCall& c, int64_t image) {
  return unreadable(text_of("node '", c.node.name, "': a region is of image ", image, ", expected less than ",
                            c.in(0).shape()[0]));
}

RunKernel roi_align(const KernelSite& site) {
  const graph::Attributes& a = site.attributes();
  const k::AlignRule rule{
      .max = a.text("mode", "avg") == "max",
      .half_pixel = a.text("coordinate_transformation_mode", "half_pixel") == "half_pixel",
      .sampling_ratio = a.integer("sampling_ratio", 0),
      .spatial_scale = a.real("spatial_scale", 1)};
  return [rule, shape = region_shape(site)](KernelCall& c) -> Status {
    for (int64_t image : c.in(2).span<int64_t>()) {
      if (image < 0 || image >= c.in(0).shape()[0]) return no_such_image(c, image);
    }
    return by_float_type(c, 0, [&]<class T>(T) {
      k::roi_align(c.ctx, shape, rule, c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<int64_t>(),
                   c.out().data<T>());
    });
  };
}

// The images that regions of five numbers are of: the first of each.
template <class T>
Expected<ScratchVector<int64_t>> images_of(const KernelCall& c) {
  const auto rois = c.in(1).span<T>();
  ScratchVector<int64_t> images;
  for (size_t i = 0; i < rois.size(); i += 5) {
    // Compared as real numbers: one that is no number is of no image.
    const bool exists = rois[i] >= 0 && rois[i] < static_cast<T>(c.in(0).shape()[0]);
    images.push_back(exists ? static_cast<int64_t>(rois[i]) : -1);
    if (images.back() < 0 || images.back() >= c.in(0).shape()[0]) {
      return unreadable(text_of("node '", c.node.name, "': a region is of image ", rois[i], ", expected less than ",
                                c.in(0).shape()[0]));
    }
  }
  return images;
}

RunKernel max_roi_pool(const KernelSite& site) {
  return [scale = site.attributes().real("spatial_scale", 1), shape = region_shape(site)](KernelCall& c) -> Status {
    Status status;
    by_type(FloatTypes{}, c.in(0).dtype(), [&]<class T>(T) {
      const auto images = images_of<T>(c);
      if (!images) {
        status = tl::unexpected<Error>(images.error());
        return;
      }
      k::max_roi_pool(c.ctx, shape, scale, c.in(0).data<T>(), c.in(1).data<T>(), images->data(), c.out().data<T>());
    });
    return status;
  };
}

template <class T>
T number_or(const KernelCall& c, int i, T fallback) {
  return c.has(i) ? *c.in(i).data<T>() : fallback;
}

std::vector<k::SelectedBox> selected(const KernelCall& c) {
  const Shape& scores = c.in(1).shape();
  const k::SuppressionShape shape{.images = scores[0],
                                  .classes = scores[1],
                                  .boxes = scores[2],
                                  .center_point = c.attributes().integer("center_point_box", 0) != 0,
                                  .most = number_or<int64_t>(c, 2, 0)};
  std::vector<k::SelectedBox> boxes;
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
