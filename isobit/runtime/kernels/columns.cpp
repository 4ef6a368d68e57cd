#include "isobit/kernels/columns/columns.h"

#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/kernels/windows.h"
#include "isobit/runtime/parameters.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

RunKernel im2col(const KernelSite& site) {
  const std::span<const int64_t> image = graph::ops::image_of(site.in(0).dims);
  const auto axes = sliding_axes(*graph::ops::read_windows(site.attributes(), image, {}), image);
  return [axes](KernelCall& c) -> Status {
    k::im2col(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape().elements(0, 2), axes, c.in(0).raw(), c.out().raw());
    return {};
  };
}

RunKernel col2im(const KernelSite& site) {
  const std::vector<int64_t> image = *parameter_of(site, "image_shape", 1),
                             block = *parameter_of(site, "block_shape", 2);
  const auto axes = sliding_axes(*graph::ops::read_windows(site.attributes(), image, block), image);
  return [axes](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::col2im(c.ctx, c.out().shape().elements(0, 2), axes, c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

}  // namespace

void add_columns_kernels(KernelTable& table) {
  table["isobit.Im2Col"] = with_parameters(im2col);
  table["Col2Im"] = with_parameters(col2im);
}

}  // namespace isobit::runtime
