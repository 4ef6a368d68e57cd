#include "isobit/kernels/indexed/places.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "isobit/kernels/movement/strided_copy.h"

namespace isobit::kernels {
namespace {

using movement::dense_steps;

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

int64_t from_start(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

}  // namespace

template <class Index>
AxisPlaces<Index>::AxisPlaces(const GatherShape& shape, const Index* indices)
    : RowPlaces(shape.outer * shape.count, shape.inner), shape_(shape), indices_(indices) {}

template <class Index>
void AxisPlaces<Index>::find(int64_t begin, int64_t end, int64_t* places) const {
  int64_t outer = begin / shape_.count, j = begin % shape_.count;
  for (int64_t row = begin; row < end; ++row) {
    *places++ = (outer * shape_.axis + from_start(indices_[j], shape_.axis)) * shape_.inner;
    if (++j < shape_.count) continue;
    j = 0;
    ++outer;
  }
}

template <class Index>
ElementPlaces<Index>::ElementPlaces(std::span<const int64_t> dims, int axis, std::span<const int64_t> index_dims,
                                    const Index* indices)
    : RowPlaces(product(index_dims), 1),
      index_dims_(index_dims.begin(), index_dims.end()),
      steps_(dense_steps(dims)),
      axis_dim_(dims[static_cast<size_t>(axis)]),
      axis_step_(steps_[static_cast<size_t>(axis)]),
      indices_(indices) {
  steps_[static_cast<size_t>(axis)] = 0;
}

template <class Index>
void ElementPlaces<Index>::find(int64_t begin, int64_t end, int64_t* places) const {
  ScratchVector<int64_t> position(index_dims_.size());
  int64_t rest = begin, offset = 0;
  for (size_t k = position.size(); k-- > 0;) {
    position[k] = rest % index_dims_[k];
    rest /= index_dims_[k];
    offset += position[k] * steps_[k];
  }
  for (int64_t row = begin; row < end; ++row) {
    *places++ = offset + from_start(indices_[row], axis_dim_) * axis_step_;
    for (size_t k = position.size(); k-- > 0;) {
      offset += steps_[k];
      if (++position[k] < index_dims_[k]) break;
      offset -= position[k] * steps_[k];
      position[k] = 0;
    }
  }
}

TuplePlaces::TuplePlaces(std::span<const int64_t> dims, int batch, int64_t per_batch, int length,
                         const int64_t* indices)
    : RowPlaces(product(dims.first(static_cast<size_t>(batch))) * per_batch,
                product(dims.subspan(static_cast<size_t>(batch + length)))),
      per_batch_(per_batch),
      batch_step_(product(dims.subspan(static_cast<size_t>(batch)))),
      indices_(indices) {
  const auto indexed = dims.subspan(static_cast<size_t>(batch), static_cast<size_t>(length));
  tuple_dims_.assign(indexed.begin(), indexed.end());
  steps_ = dense_steps(indexed);
  for (int64_t& step : steps_) step *= inner();
}

void TuplePlaces::find(int64_t begin, int64_t end, int64_t* places) const {
  const size_t length = tuple_dims_.size();
  for (int64_t row = begin; row < end; ++row) {
    const int64_t* tuple = indices_ + row * static_cast<int64_t>(length);
    int64_t place = row / per_batch_ * batch_step_;
    for (size_t k = 0; k < length; ++k) place += from_start(tuple[k], tuple_dims_[k]) * steps_[k];
    *places++ = place;
  }
}

int64_t first_bad_tuple_index(std::span<const int64_t> indices, std::span<const int64_t> tuple_dims) {
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t extent = tuple_dims[i % tuple_dims.size()];
    if (indices[i] < -extent || indices[i] >= extent) return static_cast<int64_t>(i);
  }
  return -1;
}

ReplacedPlaces::ReplacedPlaces(const Dims& dims, const int64_t* starts)
    : RowPlaces(dims.batches * dims.middle * dims.length, dims.inner), dims_(dims), starts_(starts) {}

void ReplacedPlaces::find(int64_t begin, int64_t end, int64_t* places) const {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t outer = row / dims_.length, start = starts_ == nullptr ? 0 : starts_[outer / dims_.middle];
    const int64_t at = (start % dims_.axis + dims_.axis + row % dims_.length) % dims_.axis;
    *places++ = (outer * dims_.axis + at) * dims_.inner;
  }
}

ReversedPlaces::ReversedPlaces(int64_t first, int64_t second, int64_t inner, bool batch_first, const int64_t* lengths)
    : RowPlaces(first * second, inner), second_(second), batch_first_(batch_first), lengths_(lengths) {}

void ReversedPlaces::find(int64_t begin, int64_t end, int64_t* places) const {
  for (int64_t row = begin; row < end; ++row) {
    int64_t at[] = {row / second_, row % second_};
    int64_t& time = at[batch_first_ ? 1 : 0];
    const int64_t length = lengths_[at[batch_first_ ? 0 : 1]];
    if (time < length) time = length - 1 - time;
    *places++ = (at[0] * second_ + at[1]) * inner();
  }
}

namespace {

int64_t padded_elements(std::span<const int64_t> dims, std::span<const int64_t> before,
                        std::span<const int64_t> after) {
  int64_t elements = 1;
  for (size_t k = 0; k < dims.size(); ++k) elements *= dims[k] + (before[k] + after[k]);
  return elements;
}

}  // namespace

PaddedPlaces::PaddedPlaces(PadMode mode, std::span<const int64_t> src_dims, std::span<const int64_t> before,
                           std::span<const int64_t> after)
    : RowPlaces(padded_elements(src_dims, before, after), 1), mode_(mode) {
  const ScratchVector<int64_t> steps = dense_steps(src_dims);
  for (size_t k = 0; k < src_dims.size(); ++k) {
    const int64_t cropped_before = std::max<int64_t>(0, -before[k]), cropped_after = std::max<int64_t>(0, -after[k]);
    axes_.push_back({src_dims[k] + (before[k] + after[k]), std::max<int64_t>(0, before[k]), cropped_before,
                     src_dims[k] - cropped_before - cropped_after, steps[k]});
  }
}

int64_t PaddedPlaces::place_on(const Axis& axis, int64_t i) const {
  int64_t at = i - axis.before;
  if (at < 0 || at >= axis.left) {
    const int64_t period = mode_ == PadMode::kReflect ? std::max<int64_t>(1, 2 * (axis.left - 1)) : axis.left;
    if (mode_ == PadMode::kEdge) {
      at = std::clamp<int64_t>(at, 0, axis.left - 1);
    } else {
      at = (at % period + period) % period;
      if (at >= axis.left) at = period - at;
    }
  }
  return (axis.first + at) * axis.step;
}

void PaddedPlaces::find(int64_t begin, int64_t end, int64_t* places) const {
  struct At {
    int64_t i, place;
  };
  ScratchVector<At> at(axes_.size());
  int64_t rest = begin;
  for (size_t k = at.size(); k-- > 0;) {
    at[k].i = rest % axes_[k].extent;
    at[k].place = place_on(axes_[k], at[k].i);
    rest /= axes_[k].extent;
  }
  for (int64_t row = begin; row < end; ++row) {
    int64_t place = 0;
    for (const At& a : at) place += a.place;
    *places++ = place;
    for (size_t k = at.size(); k-- > 0;) {
      if (++at[k].i == axes_[k].extent) at[k].i = 0;
      at[k].place = place_on(axes_[k], at[k].i);
      if (at[k].i != 0) break;
    }
  }
}

template class AxisPlaces<int64_t>;
template class AxisPlaces<int32_t>;
template class ElementPlaces<int64_t>;
template class ElementPlaces<int32_t>;

}  // namespace isobit::kernels
