#include <algorithm>

#include "isobit/kernels/elementwise/unary.h"
#include "isobit/kernels/sampling/affine_grid.h"
#include "isobit/kernels/sampling/sample.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/kernels/sampling_rules.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

// Of a Resize node that makes `src` larger or smaller. Those of short axes are kept, those of others are made anew in
// every run: together they may need more memory than all tensors.
class ResizeTaps {
 public:
  ResizeTaps(const KernelSite& site, const std::vector<int64_t>& src, bool transposed)
      : rule_(resize_rule(site.attributes())), transposed_(transposed) {
    constexpr int64_t kLong = 4096;
    axes_ = resize_axes(site.attributes(), src, [&](int i) {
      return site.has(i) ? site.graph.initializer(site.node.inputs[static_cast<size_t>(i)]) : nullptr;
    });
    const bool kept = std::ranges::all_of(axes_, [](const auto& a) { return a.in <= kLong && a.out <= kLong; });
    if (kept) kept_ = made();
  }

  // f(taps)
  template <class F>
  void with(F&& f) const {
    kept_.empty() ? f(made()) : f(kept_);
  }

 private:
  std::vector<k::AxisTaps> made() const {
    std::vector<k::AxisTaps> taps;
    for (const k::ResizeAxis& axis : axes_) {
      taps.push_back(k::resize_taps(axis, rule_));
      if (transposed_) taps.back() = k::transposed(taps.back());
    }
    return taps;
  }

  const k::ResizeRule rule_;
  const bool transposed_;
  std::vector<k::ResizeAxis> axes_;
  std::vector<k::AxisTaps> kept_;
};

RunKernel resize(const KernelSite& site) {
  const ResizeTaps taps(site, site.in(0).dims, false);
  const double outside = site.attributes().real("extrapolation_value", 0);
  if (resize_rule(site.attributes()).mode == k::Interpolation::kNearest) {
    return [taps, outside](KernelCall& c) -> Status {
      const DType dtype = c.in(0).dtype();
      uint64_t element = 0;
      k::cast(c.ctx, DType::kFloat64, dtype, 1, &outside, &element);
      taps.with([&](const auto& axes) {
        k::take_places(c.ctx, size_of(dtype), axes, &element, c.in(0).raw(), c.out().raw());
      });
      return {};
    };
  }
  return [taps, outside](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      taps.with([&](const auto& axes) { k::sample(c.ctx, axes, outside, c.in(0).data<T>(), c.out().data<T>()); });
    });
  };
}

RunKernel resize_grad(const KernelSite& site) {
  const ResizeTaps taps(site, site.out().dims, true);
  return [taps](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      taps.with([&](const auto& axes) { k::sample(c.ctx, axes, 0, c.in(0).data<T>(), c.out().data<T>()); });
    });
  };
}

// How many points each image of a grid has.
int64_t points_of(const Tensor& grid) { return grid.shape().elements(1, grid.shape().rank() - 1); }

RunKernel grid_sample(const KernelSite& site) {
  return [rule = point_rule(site.attributes())](KernelCall& c) {
    const Shape& src = c.in(0).shape();
    const std::span<const int64_t> image = graph::ops::image_of(src.dims());
    return by_float_type(c, 0, [&]<class T>(T) {
      k::grid_sample(c.ctx, src[0], src[1], image, points_of(c.in(1)), rule, c.in(0).data<T>(), c.in(1).data<T>(),
                     c.out().data<T>());
    });
  };
}

RunKernel grid_sample_grad_src(const KernelSite& site) {
  return [rule = point_rule(site.attributes())](KernelCall& c) {
    const Shape& src = c.out().shape();
    const std::span<const int64_t> image = graph::ops::image_of(src.dims());
    return by_float_type(c, 0, [&]<class T>(T) {
      k::grid_sample_grad_src(c.ctx, src[0], src[1], image, points_of(c.in(1)), rule, c.in(1).data<T>(),
                              c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel grid_sample_grad_grid(const KernelSite& site) {
  return [rule = point_rule(site.attributes())](KernelCall& c) {
    const Shape& src = c.in(1).shape();
    const std::span<const int64_t> image = graph::ops::image_of(src.dims());
    return by_float_type(c, 0, [&]<class T>(T) {
      k::grid_sample_grad_grid(c.ctx, src[0], src[1], image, points_of(c.in(2)), rule, c.in(1).data<T>(),
                               c.in(2).data<T>(), c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel affine_grid(const KernelSite& site) {
  return [align_corners = site.attributes().integer("align_corners", 0) != 0](KernelCall& c) {
    const std::vector<int64_t>& dims = c.out().shape().dims();
    const std::span<const int64_t> image = std::span<const int64_t>(dims).subspan(1, dims.size() - 2);
    return by_float_type(c, 0, [&]<class T>(T) {
      k::affine_grid(c.ctx, dims[0], image, align_corners, c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel deform_grad_src(const KernelSite& site) {
  return [shape = deform_shape(site.attributes(), site.out().dims)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::deformed_columns_grad_src(c.ctx, shape, c.in(1).data<T>(), c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel deform_grad_offset(const KernelSite& site) {
  return [shape = deform_shape(site.attributes(), site.in(1).dims)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::deformed_columns_grad_offset(c.ctx, shape, c.in(1).data<T>(), c.in(2).data<T>(), c.in(0).data<T>(),
                                      c.out().data<T>());
    });
  };
}

RunKernel deform_im2col(const KernelSite& site) {
  return [shape = deform_shape(site.attributes(), site.in(0).dims)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      const T* mask = c.has(2) ? c.in(2).data<T>() : nullptr;
      k::deformed_columns(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<T>(), mask, c.out().data<T>());
    });
  };
}

}  // namespace

void add_sampling_kernels(KernelTable& table) {
  table["Resize"] = with_parameters(resize);
  table["isobit.ResizeGrad"] = with_parameters(resize_grad);
  table["GridSample"] = with_parameters(grid_sample);
  table["AffineGrid"] = with_parameters(affine_grid);
  table["isobit.DeformIm2Col"] = with_parameters(deform_im2col);
  table["isobit.GridSampleGradSrc"] = with_parameters(grid_sample_grad_src);
  table["isobit.GridSampleGradGrid"] = with_parameters(grid_sample_grad_grid);
  table["isobit.DeformIm2ColGradSrc"] = with_parameters(deform_grad_src);
  table["isobit.DeformIm2ColGradOffset"] = with_parameters(deform_grad_offset);
}

}  // namespace isobit::runtime
