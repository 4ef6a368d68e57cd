#include <span>
#include <string>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/kernels/embedding/embedding.h"
#include "isobit/kernels/indexed/indexed.h"
#include "isobit/kernels/indexed/select.h"
#include "isobit/kernels/movement/movement.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/kernels/zeros.h"
#include "isobit/runtime/parameters.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;
using Dims = std::vector<int64_t>;

size_t element_size(const Tensor& t) { return size_of(t.dtype()); }

int axis_in(const Dims& dims, int64_t axis) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
}

// Calls f(a pointer to the indices of input i).
template <class F>
Status by_index_type(const KernelCall& c, int i, F&& f) {
  return c.in(i).dtype() == DType::kInt64 ? f(c.in(i).data<int64_t>()) : f(c.in(i).data<int32_t>());
}

Status bad_index(const KernelCall& c, int64_t number, int64_t index, int64_t extent) {
  return unreadable(
      text_of("node '", c.node.name, "': index ", number, " is ", index, ", expected less than ", extent));
}

// Every index of input i is inside an axis of this extent.
template <class Index>
Status check_indices(const KernelCall& c, int i, int64_t extent) {
  const auto indices = c.in(i).span<Index>();
  const int64_t bad = k::first_bad_index(indices, extent);
  return bad < 0 ? Status{} : bad_index(c, bad, indices[static_cast<size_t>(bad)], extent);
}

k::GatherShape gather_shape(const Shape& src, int axis, int64_t count) {
  return {src.elements(0, axis), src[axis], count, src.elements(axis + 1, src.rank())};
}

RunKernel gather(const KernelSite& site) {
  return [axis = axis_in(site.in(0).dims, site.attributes().integer("axis", 0))](KernelCall& c) {
    return by_index_type(c, 1, [&]<class Index>(const Index* indices) -> Status {
      const k::GatherShape shape = gather_shape(c.in(0).shape(), axis, c.in(1).elements());
      ISOBIT_RETURN_IF_ERROR(check_indices<Index>(c, 1, shape.axis));
      k::gather(c.ctx, element_size(c.in(0)), shape, indices, c.in(0).raw(), c.out().raw());
      return {};
    });
  };
}

// Rows of diff_dst, input 1, summed where `places` says; 0 elsewhere.
Status sum_of_rows(KernelCall& c, const k::RowPlaces& places) {
  fill_zeros(c);
  return by_float_type(c, 1, [&]<class T>(T) {
    k::combine_rows(c.ctx, k::Combine::kAdd, places, c.in(1).data<T>(), c.out().data<T>());
  });
}

RunKernel gather_grad(const KernelSite& site) {
  return [axis = axis_in(site.out().dims, site.attributes().integer("axis", 0))](KernelCall& c) {
    return by_index_type(c, 0, [&]<class Index>(const Index* indices) -> Status {
      const k::GatherShape shape = gather_shape(c.out().shape(), axis, c.in(0).elements());
      ISOBIT_RETURN_IF_ERROR(check_indices<Index>(c, 0, shape.axis));
      return sum_of_rows(c, k::AxisPlaces<Index>(shape, indices));
    });
  };
}

Status embedding_grad(KernelCall& c) {
  const int64_t rows = c.out().shape()[0];
  ISOBIT_RETURN_IF_ERROR(check_indices<int64_t>(c, 0, rows));
  const auto indices = c.in(0).span<int64_t>();
  ScratchVector<int64_t> from_start;
  for (const int64_t i : indices) from_start.push_back(i < 0 ? i + rows : i);
  return by_float_type(c, 1, [&]<class T>(T) {
    k::embedding_grad(c.ctx, c.in(0).elements(), rows, c.out().shape()[1], from_start.data(), c.in(1).data<T>(),
                      c.out().data<T>());
  });
}

RunKernel gather_elements(const KernelSite& site) {
  return [axis = axis_in(site.in(0).dims, site.attributes().integer("axis", 0))](KernelCall& c) {
    return by_index_type(c, 1, [&]<class Index>(const Index* indices) -> Status {
      const Shape &src = c.in(0).shape(), &dst = c.in(1).shape();
      ISOBIT_RETURN_IF_ERROR(check_indices<Index>(c, 1, src[axis]));
      const k::ElementPlaces<Index> places(src.dims(), axis, dst.dims(), indices);
      k::gather_rows(c.ctx, element_size(c.in(0)), places, c.in(0).raw(), c.out().raw());
      return {};
    });
  };
}

RunKernel gather_elements_grad(const KernelSite& site) {
  return [axis = axis_in(site.out().dims, site.attributes().integer("axis", 0))](KernelCall& c) {
    return by_index_type(c, 0, [&]<class Index>(const Index* indices) -> Status {
      const Shape& src = c.out().shape();
      ISOBIT_RETURN_IF_ERROR(check_indices<Index>(c, 0, src[axis]));
      return sum_of_rows(c, k::ElementPlaces<Index>(src.dims(), axis, c.in(0).shape().dims(), indices));
    });
  };
}

// f(where the tuples of input i lead in an array of `array`).
template <class F>
Status by_tuples(KernelCall& c, int i, const Shape& array, int batch, F&& f) {
  const Shape& shape = c.in(i).shape();
  const auto length = static_cast<int>(shape[-1]);
  const auto indexed = std::span(array.dims()).subspan(static_cast<size_t>(batch), static_cast<size_t>(length));
  const auto indices = c.in(i).span<int64_t>();
  if (const int64_t bad = k::first_bad_tuple_index(indices, indexed); bad >= 0) {
    return bad_index(c, bad, indices[static_cast<size_t>(bad)], indexed[static_cast<size_t>(bad % length)]);
  }
  return f(k::TuplePlaces(array.dims(), batch, shape.elements(batch, shape.rank() - 1), length, indices.data()));
}

RunKernel gather_nd(const KernelSite& site) {
  return [batch = static_cast<int>(site.attributes().integer("batch_dims", 0))](KernelCall& c) {
    return by_tuples(c, 1, c.in(0).shape(), batch, [&](const k::RowPlaces& places) -> Status {
      k::gather_rows(c.ctx, element_size(c.in(0)), places, c.in(0).raw(), c.out().raw());
      return {};
    });
  };
}

RunKernel gather_nd_grad(const KernelSite& site) {
  return [batch = static_cast<int>(site.attributes().integer("batch_dims", 0))](KernelCall& c) {
    return by_tuples(c, 0, c.out().shape(), batch, [&](const k::RowPlaces& places) { return sum_of_rows(c, places); });
  };
}

// Input 0 with rows of `updates` put or combined where `places` says.
Status scatter(KernelCall& c, const std::string& reduction, const Tensor& updates, const k::RowPlaces& places) {
  if (c.out().raw() != c.in(0).raw()) {
    k::copy(c.ctx, element_size(updates), c.in(0).elements(), c.in(0).raw(), c.out().raw());
  }
  if (reduction == "none") {
    k::scatter_rows(c.ctx, element_size(updates), places, updates.raw(), c.out().raw());
    return {};
  }
  const k::Combine how = reduction == "add"   ? k::Combine::kAdd
                         : reduction == "mul" ? k::Combine::kMul
                         : reduction == "max" ? k::Combine::kMax
                                              : k::Combine::kMin;
  by_type(NumberTypes{}, updates.dtype(),
          [&]<class T>(T) { k::combine_rows(c.ctx, how, places, updates.data<T>(), c.out().data<T>()); });
  return {};
}

RunKernel scatter_elements(const KernelSite& site) {
  return [axis = axis_in(site.in(0).dims, site.attributes().integer("axis", 0)),
          reduction = site.attributes().text("reduction", "none")](KernelCall& c) {
    return by_index_type(c, 1, [&]<class Index>(const Index* indices) -> Status {
      const Shape& shape = c.in(0).shape();
      ISOBIT_RETURN_IF_ERROR(check_indices<Index>(c, 1, shape[axis]));
      const k::ElementPlaces<Index> places(shape.dims(), axis, c.in(1).shape().dims(), indices);
      return scatter(c, reduction, c.in(2), places);
    });
  };
}

RunKernel scatter_nd(const KernelSite& site) {
  return [reduction = site.attributes().text("reduction", "none")](KernelCall& c) {
    return by_tuples(c, 1, c.in(0).shape(), 0,
                     [&](const k::RowPlaces& places) { return scatter(c, reduction, c.in(2), places); });
  };
}

RunKernel tensor_scatter(const KernelSite& site) {
  const Shape past = site.in(0).shape(), update = site.in(1).shape();
  const int axis = axis_in(past.dims(), site.attributes().integer("axis", -2));
  const k::ReplacedPlaces::Dims dims{past[0], past.elements(1, axis), past[axis], update[axis],
                                     past.elements(axis + 1, past.rank())};
  const bool circular = site.attributes().text("mode", "linear") == "circular";
  return [dims, circular](KernelCall& c) -> Status {
    const int64_t* starts = c.has(2) ? c.in(2).data<int64_t>() : nullptr;
    for (int64_t b = 0; !circular && starts != nullptr && b < dims.batches; ++b) {
      if (starts[b] >= 0 && starts[b] <= dims.axis - dims.length) continue;
      return unreadable(text_of("node '", c.node.name, "': the update of batch ", b, " begins at ", starts[b],
                                ", expected 0 to ", dims.axis - dims.length));
    }
    return scatter(c, "none", c.in(1), k::ReplacedPlaces(dims, starts));
  };
}

// The axis of Compress; of a flattened source the only one.
k::GatherShape compressed(const KernelCall& c, int64_t count) {
  const Shape& src = c.in(0).shape();
  if (!c.attributes().has("axis")) return {1, src.elements(), count, 1};
  return gather_shape(src, axis_in(src.dims(), c.attributes().integer("axis", 0)), count);
}

ScratchVector<int64_t> places_to_keep(const KernelCall& c) {
  return k::places_of_true({static_cast<const uint8_t*>(c.in(1).raw()), static_cast<size_t>(c.in(1).elements())});
}

Expected<std::vector<Shape>> measure_compress(const KernelCall& c) {
  const auto count = static_cast<int64_t>(places_to_keep(c).size());
  if (!c.attributes().has("axis")) return std::vector<Shape>{Shape{count}};
  Dims dims = c.in(0).shape().dims();
  dims[static_cast<size_t>(axis_in(dims, c.attributes().integer("axis", 0)))] = count;
  return std::vector<Shape>{Shape(std::move(dims))};
}

Status compress(KernelCall& c) {
  const ScratchVector<int64_t> places = places_to_keep(c);
  k::gather(c.ctx, element_size(c.in(0)), compressed(c, static_cast<int64_t>(places.size())), places.data(),
            c.in(0).raw(), c.out().raw());
  return {};
}

RunKernel one_hot(const KernelSite& site) {
  const Shape dst = site.out().shape();
  const int axis = axis_in(dst.dims(), site.attributes().integer("axis", -1));
  const k::OneHotShape shape{dst.elements(0, axis), dst[axis], dst.elements(axis + 1, dst.rank())};
  return [shape](KernelCall& c) -> Status {
    by_type(IntegerTypes{}, c.in(0).dtype(), [&]<class Index>(Index) {
      k::one_hot(c.ctx, element_size(c.in(2)), shape, c.in(0).data<Index>(), c.in(2).raw(), c.out().raw());
    });
    return {};
  };
}

}  // namespace

void add_indexing_kernels(KernelTable& table) {
  table["Gather"] = with_parameters(gather);
  table["isobit.GatherGrad"] = with_parameters(gather_grad);
  table["isobit.EmbeddingGrad"] = {embedding_grad};
  table["GatherElements"] = with_parameters(gather_elements);
  table["isobit.GatherElementsGrad"] = with_parameters(gather_elements_grad);
  table["GatherND"] = with_parameters(gather_nd);
  table["isobit.GatherNDGrad"] = with_parameters(gather_nd_grad);
  table["ScatterElements"] = with_parameters(scatter_elements, {{0, 0}});
  table["ScatterND"] = with_parameters(scatter_nd, {{0, 0}});
  table["TensorScatter"] = with_parameters(tensor_scatter, {{0, 0}});
  table["Compress"] = {.run = compress, .measure = measure_compress};
  table["OneHot"] = with_parameters(one_hot);
}

}  // namespace isobit::runtime
