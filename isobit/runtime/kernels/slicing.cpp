#include <optional>
#include <string>
#include <vector>

#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/kernels/indexed/indexed.h"
#include "isobit/kernels/movement/movement.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/kernels/zeros.h"
#include "isobit/runtime/parameters.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;
using graph::ops::Pads;
using Ranges = std::vector<SliceRange>;

RunKernel slice_by(Ranges ranges) {
  return [ranges = std::move(ranges)](KernelCall& c) -> Status {
    k::slice(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), ranges, c.in(0).raw(), c.out().raw());
    return {};
  };
}

RunKernel slice_grad_by(Ranges ranges) {
  return [ranges = std::move(ranges)](KernelCall& c) -> Status {
    fill_zeros(c);
    k::assign_slice(c.ctx, size_of(c.in(0).dtype()), c.out().shape(), ranges, c.in(0).raw(), c.out().raw());
    return {};
  };
}

RunKernel slice(const KernelSite& site) {
  return slice_by(graph::ops::slice_ranges(site.in(0).dims, parameter_of(site, "starts", 1).value(),
                                           parameter_of(site, "ends", 2).value(), parameter_of(site, "axes", 3),
                                           parameter_of(site, "steps", 4))
                      .value());
}

// Attributes starts, counts and perhaps steps. What nothing or one element is taken from has a position and a step that
// no array can be walked by.
Ranges ranges_of(const KernelSite& site) {
  const auto starts = site.attributes().integers("starts", {}), counts = site.attributes().integers("counts", {});
  const auto steps = site.attributes().integers("steps", std::vector<int64_t>(starts.size(), 1));
  Ranges ranges;
  for (size_t i = 0; i < starts.size(); ++i) {
    ranges.push_back({counts[i] == 0 ? 0 : starts[i], counts[i], counts[i] <= 1 ? 1 : steps[i]});
  }
  return ranges;
}

RunKernel block(const KernelSite& site) { return slice_by(ranges_of(site)); }
RunKernel slice_grad(const KernelSite& site) { return slice_grad_by(ranges_of(site)); }

k::PadMode pad_mode(const std::string& mode) {
  return mode == "edge" ? k::PadMode::kEdge : mode == "wrap" ? k::PadMode::kWrap : k::PadMode::kReflect;
}

RunKernel pad_with_value(const Pads& pads) {
  return [pads](KernelCall& c) -> Status {
    const uint64_t zero = 0;
    const void* value = c.has(2) ? c.in(2).raw() : &zero;
    k::pad(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), pads.before, pads.after, value, c.in(0).raw(),
           c.out().raw());
    return {};
  };
}

RunKernel center_crop_pad(const KernelSite& site) {
  std::optional<std::vector<int64_t>> axes;
  if (site.attributes().has("axes")) axes = site.attributes().integers("axes", {});
  return pad_with_value(
      graph::ops::centering_pads(site.in(0).dims, parameter_of(site, "shape", 1).value(), axes).value());
}

RunKernel pad(const KernelSite& site) {
  const std::string mode = site.attributes().text("mode", "constant");
  const Pads pads = graph::ops::pads_of_axes(site.in(0).dims.size(), parameter_of(site, "pads", 1).value(),
                                             parameter_of(site, "axes", 3))
                        .value();
  if (mode == "constant") return pad_with_value(pads);
  return [pads, how = pad_mode(mode)](KernelCall& c) -> Status {
    const k::PaddedPlaces places(how, c.in(0).shape().dims(), pads.before, pads.after);
    k::gather_rows(c.ctx, size_of(c.in(0).dtype()), places, c.in(0).raw(), c.out().raw());
    return {};
  };
}

RunKernel pad_grad(const KernelSite& site) {
  const Pads pads =
      graph::ops::pads_of_axes(site.out().dims.size(), site.attributes().integers("pads", {}), std::nullopt).value();
  return [pads, how = pad_mode(site.attributes().text("mode", ""))](KernelCall& c) -> Status {
    const k::PaddedPlaces places(how, c.out().shape().dims(), pads.before, pads.after);
    fill_zeros(c);
    return by_float_type(c, 0, [&]<class T>(T) {
      k::combine_rows(c.ctx, k::Combine::kAdd, places, c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel split(const KernelSite& site) {
  const auto& dims = site.in(0).dims;
  const int64_t given = site.attributes().integer("axis", 0);
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(dims.size()) : given);
  const auto sizes =
      graph::ops::split_sizes(dims[axis], site.node.outputs.size(), parameter_of(site, "split", 1)).value();
  Ranges all;
  for (const int64_t d : dims) all.push_back({0, d, 1});
  std::vector<Ranges> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    all[axis] = {start, size, 1};
    parts.push_back(all);
    start += size;
  }
  return [parts](KernelCall& c) -> Status {
    for (size_t o = 0; o < parts.size(); ++o) {
      if (!c.outputs[o].defined()) continue;
      k::slice(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), parts[o], c.in(0).raw(), c.outputs[o].raw());
    }
    return {};
  };
}

}  // namespace

void add_slicing_kernels(KernelTable& table) {
  table["Slice"] = with_parameters(slice);
  table["isobit.SliceGrad"] = with_parameters(slice_grad);
  table["isobit.Block"] = with_parameters(block);
  table["isobit.BlockGrad"] = with_parameters(slice_grad);
  table["Pad"] = with_parameters(pad);
  table["CenterCropPad"] = with_parameters(center_crop_pad);
  table["isobit.PadGrad"] = with_parameters(pad_grad);
  table["Split"] = with_parameters(split);
}

}  // namespace isobit::runtime
