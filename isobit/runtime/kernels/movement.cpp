#include "isobit/kernels/movement/movement.h"

#include <numeric>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/base/text.h"
#include "isobit/kernels/indexed/indexed.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/parameters.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

RunKernel transpose(const KernelSite& site) {
  std::vector<int64_t> order(site.in(0).dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::vector<int> perm;
  for (int64_t p : site.attributes().integers("perm", order)) perm.push_back(static_cast<int>(p));
  return [perm](KernelCall& c) -> Status {
    k::transpose(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), perm, c.in(0).raw(), c.out().raw());
    return {};
  };
}

// The source seen in six axes and transposed.
RunKernel six_axes(const Shape& apart, std::vector<int> perm) {
  return [apart, perm = std::move(perm)](KernelCall& c) -> Status {
    k::transpose(c.ctx, size_of(c.in(0).dtype()), apart, perm, c.in(0).raw(), c.out().raw());
    return {};
  };
}

RunKernel depth_to_space(const KernelSite& site) {
  const auto& src = site.in(0).dims;
  const int64_t b = site.attributes().integer("blocksize", 1), channels = src[1] / (b * b);
  if (site.attributes().text("mode", "DCR") == "DCR")
    return six_axes({src[0], b, b, channels, src[2], src[3]}, {0, 3, 4, 1, 5, 2});
  return six_axes({src[0], channels, b, b, src[2], src[3]}, {0, 1, 4, 2, 5, 3});
}

RunKernel space_to_depth(const KernelSite& site) {
  const auto& src = site.in(0).dims;
  const int64_t b = site.attributes().integer("blocksize", 1);
  return six_axes({src[0], src[1], src[2] / b, b, src[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

RunKernel concat(const KernelSite& site) {
  const int64_t given = site.attributes().integer("axis", 0);
  const auto axis = static_cast<int>(given < 0 ? given + static_cast<int64_t>(site.in(0).dims.size()) : given);
  return [axis](KernelCall& c) -> Status {
    ScratchVector<k::ConcatInput> inputs;
    for (const Tensor* t : c.inputs) inputs.push_back({t->shape().dims(), t->raw()});
    k::concat(c.ctx, size_of(c.in(0).dtype()), axis, inputs, c.out().raw());
    return {};
  };
}

Status expand(KernelCall& c) {
  k::expand(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), c.out().shape(), c.in(0).raw(), c.out().raw());
  return {};
}

RunKernel tile(const KernelSite& site) {
  return [repeats = parameter_of(site, "repeats", 1).value()](KernelCall& c) -> Status {
    k::tile(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), repeats, c.in(0).raw(), c.out().raw());
    return {};
  };
}

RunKernel trilu(const KernelSite& site) {
  const Shape shape = site.in(0).shape();
  const auto diagonal = parameter_of(site, "k", 1);
  const k::Triangle triangle{shape.elements(0, shape.rank() - 2), shape[-2], shape[-1],
                             diagonal ? diagonal->front() : 0, site.attributes().integer("upper", 1) != 0};
  return [triangle](KernelCall& c) -> Status {
    k::trilu(c.ctx, size_of(c.in(0).dtype()), triangle, c.in(0).raw(), c.out().raw());
    return {};
  };
}

RunKernel reverse_sequence(const KernelSite& site) {
  const bool batch_first = site.attributes().integer("batch_axis", 1) == 0;
  return [batch_first](KernelCall& c) -> Status {
    const Shape& shape = c.in(0).shape();
    const int64_t steps = shape[batch_first ? 1 : 0];
    for (const int64_t length : c.in(1).span<int64_t>()) {
      if (length >= 0 && length <= steps) continue;
      return unreadable(
          text_of("node '", c.node.name, "': a sequence's length is ", length, ", expected 0 to ", steps));
    }
    const k::ReversedPlaces places(shape[0], shape[1], shape.elements(2, shape.rank()), batch_first,
                                   c.in(1).data<int64_t>());
    k::gather_rows(c.ctx, size_of(c.in(0).dtype()), places, c.in(0).raw(), c.out().raw());
    return {};
  };
}

}  // namespace

void add_movement_kernels(KernelTable& table) {
  for (const char* view : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) {
    table[view] = {.run = {}, .is_view = true};
  }
  table["Transpose"] = with_parameters(transpose);
  table["DepthToSpace"] = with_parameters(depth_to_space);
  table["SpaceToDepth"] = with_parameters(space_to_depth);
  table["Concat"] = with_parameters(concat);
  table["Expand"] = {expand};
  table["Tile"] = with_parameters(tile);
  table["Trilu"] = with_parameters(trilu);
  table["ReverseSequence"] = with_parameters(reverse_sequence);
}

}  // namespace isobit::runtime
