#include "isobit/kernels/movement/movement.h"

#include <cstring>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/base/text.h"
#include "isobit/kernels/embedding/embedding.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

RunKernel transpose(const KernelSite& site) {
  std::vector<int> perm;
  for (int64_t p : site.attributes().integers("perm", {})) perm.push_back(static_cast<int>(p));
  return [perm](KernelCall& c) -> Status {
    k::transpose(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), perm, c.in(0).raw(), c.out().raw());
    return {};
  };
}

int axis_of(const KernelSite& site) {
  const int64_t axis = site.attributes().integer("axis", 0);
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(site.in(0).dims.size()) : axis);
}

RunKernel concat(const KernelSite& site) {
  return [axis = axis_of(site)](KernelCall& c) -> Status {
    ScratchVector<k::ConcatInput> inputs;
    for (const Tensor* t : c.inputs) inputs.push_back({t->shape().dims(), t->raw()});
    k::concat(c.ctx, size_of(c.in(0).dtype()), axis, inputs, c.out().raw());
    return {};
  };
}

std::vector<k::SliceRange> block_ranges(const KernelSite& site) {
  const auto starts = site.attributes().integers("starts", {}), counts = site.attributes().integers("counts", {});
  std::vector<k::SliceRange> ranges;
  for (size_t i = 0; i < starts.size(); ++i) ranges.push_back({starts[i], counts[i], 1});
  return ranges;
}

RunKernel block(const KernelSite& site) {
  return [ranges = block_ranges(site)](KernelCall& c) -> Status {
    k::slice(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), ranges, c.in(0).raw(), c.out().raw());
    return {};
  };
}

RunKernel block_grad(const KernelSite& site) {
  return [ranges = block_ranges(site)](KernelCall& c) -> Status {
    std::memset(c.out().raw(), 0, c.out().bytes());
    k::assign_slice(c.ctx, size_of(c.in(0).dtype()), c.out().shape(), ranges, c.in(0).raw(), c.out().raw());
    return {};
  };
}

template <class Index>
Status gather_by(KernelCall& c, int axis) {
  const Shape& src = c.in(0).shape();
  const auto indices = c.in(1).span<Index>();
  const int64_t bad = k::first_bad_index(indices, src[axis]);
  if (bad >= 0) {
    return unreadable(text_of("node '", c.node.name, "': index ", bad, " is ", indices[static_cast<size_t>(bad)],
                              ", expected less than ", src[axis]));
  }
  const k::GatherShape shape{src.elements(0, axis), src[axis], c.in(1).elements(), src.elements(axis + 1, src.rank())};
  k::gather(c.ctx, size_of(c.in(0).dtype()), shape, indices.data(), c.in(0).raw(), c.out().raw());
  return {};
}

RunKernel gather(const KernelSite& site) {
  return [axis = axis_of(site)](KernelCall& c) {
    return c.in(1).dtype() == DType::kInt64 ? gather_by<int64_t>(c, axis) : gather_by<int32_t>(c, axis);
  };
}

Status embedding_grad(KernelCall& c) {
  const int64_t rows = c.out().shape()[0];
  for (int64_t i : c.in(0).span<int64_t>()) {
    if (i >= 0 && i < rows) continue;
    return unreadable(text_of("node '", c.node.name, "': an index is ", i, ", expected 0 to ", rows - 1,
                              ": only these have a gradient"));
  }
  return by_float_type(c, 1, [&]<class T>(T) {
    k::embedding_grad(c.ctx, c.in(0).elements(), c.out().shape()[0], c.out().shape()[1], c.in(0).data<int64_t>(),
                      c.in(1).data<T>(), c.out().data<T>());
  });
}

Status expand(KernelCall& c) {
  k::expand(c.ctx, size_of(c.in(0).dtype()), c.in(0).shape(), c.out().shape(), c.in(0).raw(), c.out().raw());
  return {};
}

}  // namespace

void add_movement_kernels(KernelTable& table) {
  table["Reshape"] = {.run = {}, .is_view = true};
  table["Flatten"] = {.run = {}, .is_view = true};
  table["Transpose"] = with_parameters(transpose);
  table["Concat"] = with_parameters(concat);
  table["isobit.Block"] = with_parameters(block);
  table["isobit.BlockGrad"] = with_parameters(block_grad);
  table["Gather"] = with_parameters(gather);
  table["isobit.EmbeddingGrad"] = {embedding_grad};
  table["Expand"] = {expand};
}

}  // namespace isobit::runtime
