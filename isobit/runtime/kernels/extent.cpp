#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/kernels/elementwise/unary.h"
#include "isobit/kernels/indexed/select.h"
#include "isobit/kernels/movement/movement.h"
#include "isobit/numerics/range.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/tensor/slice_range.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

RunKernel shape(const KernelSite& site) {
  return [start = site.attributes().integer("start", 0),
          end = site.attributes().integer("end", INT64_MAX)](KernelCall& c) -> Status {
    const Shape& src = c.in(0).shape();
    const SliceRange range = resolve_slice(src.rank(), start, end, 1);
    for (int64_t i = 0; i < range.count; ++i) {
      c.out().data<int64_t>()[i] = src[static_cast<int>(range.start + i)];
    }
    return {};
  };
}

Status size(KernelCall& c) {
  c.out().data<int64_t>()[0] = c.in(0).elements();
  return {};
}

RunKernel constant_of_shape(const KernelSite& site) {
  const auto& attributes = site.attributes().items();
  const auto value = attributes.find("value");
  const Tensor number = value == attributes.end() ? Tensor::scalar(0.0f) : std::get<Tensor>(value->second);
  return [number](KernelCall& c) -> Status {
    k::fill(c.ctx, size_of(number.dtype()), c.out().elements(), number.raw(), c.out().raw());
    return {};
  };
}

RunKernel eye_like(const KernelSite& site) {
  return [diagonal = site.attributes().integer("k", 0)](KernelCall& c) -> Status {
    const int64_t rows = c.out().shape()[0], columns = c.out().shape()[1];
    std::memset(c.out().raw(), 0, c.out().bytes());
    if (diagonal <= -rows || diagonal >= columns) return {};
    const float one = 1;
    uint64_t number = 0;
    k::cast(c.ctx, DType::kFloat32, c.out().dtype(), 1, &one, &number);
    const size_t bytes = size_of(c.out().dtype());
    auto* out = static_cast<uint8_t*>(c.out().raw());
    for (int64_t r = std::max<int64_t>(0, -diagonal); r < rows && r + diagonal < columns; ++r) {
      std::memcpy(out + static_cast<size_t>(r * columns + r + diagonal) * bytes, &number, bytes);
    }
    return {};
  };
}

Expected<std::vector<Shape>> measure_range(const KernelCall& c) {
  std::optional<int64_t> count;
  by_type(NumberTypes{}, c.in(0).dtype(), [&]<class T>(T) {
    count = numerics::range_count(c.in(0).data<T>()[0], c.in(1).data<T>()[0], c.in(2).data<T>()[0]);
  });
  if (!count) return unreadable(text_of("node '", c.node.name, "': no range from start to limit by delta"));
  return std::vector<Shape>{Shape{*count}};
}

Status range(KernelCall& c) {
  by_type(NumberTypes{}, c.in(0).dtype(), [&]<class T>(T) {
    const T start = c.in(0).data<T>()[0], delta = c.in(2).data<T>()[0];
    c.ctx.pool->parallel_for(c.out().elements(), 1 << 14, [&, out = c.out().data<T>()](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = numerics::range_element(start, delta, i);
    });
  });
  return {};
}

Expected<std::vector<Shape>> measure_non_zero(const KernelCall& c) {
  const Tensor& src = c.in(0);
  return std::vector<Shape>{Shape{src.shape().rank(), k::count_non_zero(src.dtype(), src.elements(), src.raw())}};
}

Status non_zero(KernelCall& c) {
  const Tensor& src = c.in(0);
  k::non_zero(src.dtype(), src.shape(), c.out().shape()[1], src.raw(), c.out().data<int64_t>());
  return {};
}

// [outer, items, inner]; without an axis every element is an item.
k::GatherShape items_of(const KernelCall& c) {
  const Shape& src = c.in(0).shape();
  if (!c.attributes().has("axis")) return {1, src.elements(), 0, 1};
  const int64_t given = c.attributes().integer("axis", 0);
  const auto axis = static_cast<int>(given < 0 ? given + src.rank() : given);
  return {src.elements(0, axis), src[axis], 0, src.elements(axis + 1, src.rank())};
}

k::DistinctItems distinct(const KernelCall& c) {
  const k::GatherShape s = items_of(c);
  return k::distinct_items(c.in(0).dtype(), s.outer, s.axis, s.inner, c.attributes().integer("sorted", 1) != 0,
                           c.in(0).raw());
}

Expected<std::vector<Shape>> measure_unique(const KernelCall& c) {
  const k::DistinctItems found = distinct(c);
  const auto count = static_cast<int64_t>(found.first.size()), items = static_cast<int64_t>(found.number.size());
  std::vector<int64_t> dims = {count};
  if (c.attributes().has("axis")) {
    dims = c.in(0).shape().dims();
    const int64_t axis = c.attributes().integer("axis", 0);
    dims[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)] = count;
  }
  return std::vector<Shape>{Shape(std::move(dims)), Shape{count}, Shape{items}, Shape{count}};
}

Status unique(KernelCall& c) {
  const k::DistinctItems found = distinct(c);
  k::GatherShape shape = items_of(c);
  shape.count = static_cast<int64_t>(found.first.size());
  k::gather(c.ctx, size_of(c.in(0).dtype()), shape, found.first.data(), c.in(0).raw(), c.out().raw());
  const ScratchVector<int64_t>* places[] = {&found.first, &found.number, &found.counts};
  for (size_t o = 1; o < c.outputs.size(); ++o) {
    if (c.outputs[o].defined()) std::copy(places[o - 1]->begin(), places[o - 1]->end(), c.outputs[o].data<int64_t>());
  }
  return {};
}

}  // namespace

void add_extent_kernels(KernelTable& table) {
  table["Shape"] = with_parameters(shape);
  table["Size"] = {size};
  table["ConstantOfShape"] = with_parameters(constant_of_shape);
  table["EyeLike"] = with_parameters(eye_like);
  table["Range"] = {.run = range, .measure = measure_range};
  table["NonZero"] = {.run = non_zero, .measure = measure_non_zero};
  table["Unique"] = {.run = unique, .measure = measure_unique};
}

}  // namespace isobit::runtime
