// Where rows lie that integers name. A row is `inner` elements next to each other; the places of rows are counted in
// elements. Indices from -extent to -1 count from the end of an axis, as in ONNX.
//
// Nothing here owns what it is made of. Every class REQUIRES indices inside their axes: indices are data, so whoever
// runs a graph looks at them first (first_bad_index in movement/movement.h, and below). A zero dimension is fine; then
// there is no row, or nothing in one.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/base/scratch.h"
#include "isobit/kernels/movement/movement.h"

namespace isobit::kernels {

class RowPlaces {
 public:
  virtual ~RowPlaces() = default;
  int64_t rows() const { return rows_; }
  int64_t inner() const { return inner_; }
  // places[r - begin] = where row r starts, for begin <= r < end <= rows(). Threads may ask at the same time.
  virtual void find(int64_t begin, int64_t end, int64_t* places) const = 0;

 protected:
  RowPlaces(int64_t rows, int64_t inner) : rows_(rows), inner_(inner) {}

 private:
  int64_t rows_, inner_;
};

// Gather: row (o, j) of [outer, count] is row (o, indices[j]) of [outer, axis]. Index: int64_t, int32_t.
template <class Index>
class AxisPlaces final : public RowPlaces {
 public:
  AxisPlaces(const GatherShape& shape, const Index* indices);
  void find(int64_t begin, int64_t end, int64_t* places) const override;

 private:
  GatherShape shape_;
  const Index* indices_;
};

// GatherElements, ScatterElements: a row is one element. That at position t of an array of index_dims is the one of an
// array of `dims` at t, but on `axis`, where it is at indices[t]. REQUIRES equal ranks and index_dims[k] <= dims[k] for
// all k but `axis`. Index: int64_t, int32_t.
template <class Index>
class ElementPlaces final : public RowPlaces {
 public:
  ElementPlaces(std::span<const int64_t> dims, int axis, std::span<const int64_t> index_dims, const Index* indices);
  void find(int64_t begin, int64_t end, int64_t* places) const override;

 private:
  ScratchVector<int64_t> index_dims_, steps_;  // a step of 0 along the axis
  int64_t axis_dim_, axis_step_;
  const Index* indices_;
};

// GatherND, ScatterND: behind its first `batch` axes (together: batches), an array of `dims` is indexed by tuples of
// `length` numbers, per_batch of them for each; a row is what such a tuple leaves. indices: [batches, per_batch,
// length]. REQUIRES batch + length <= dims.size(), length >= 1.
class TuplePlaces final : public RowPlaces {
 public:
  TuplePlaces(std::span<const int64_t> dims, int batch, int64_t per_batch, int length, const int64_t* indices);
  void find(int64_t begin, int64_t end, int64_t* places) const override;

 private:
  ScratchVector<int64_t> tuple_dims_, steps_;
  int64_t per_batch_, batch_step_;
  const int64_t* indices_;
};
// The first number of the tuples over axes of these dimensions that is outside of its axis, or -1.
int64_t first_bad_tuple_index(std::span<const int64_t> indices, std::span<const int64_t> tuple_dims);

// TensorScatter: row (b, m, t) of [batches, middle, length] is row (b, m, starts[b] + t) of [batches, middle, axis],
// modulo axis (so that -1 is the last one). starts: null for 0. REQUIRES length <= axis.
class ReplacedPlaces final : public RowPlaces {
 public:
  struct Dims {
    int64_t batches = 1, middle = 1, axis = 1, length = 0, inner = 1;
  };
  ReplacedPlaces(const Dims& dims, const int64_t* starts);
  void find(int64_t begin, int64_t end, int64_t* places) const override;

 private:
  Dims dims_;
  const int64_t* starts_;
};

// ReverseSequence: the first lengths[b] steps of batch b are turned round. dims: the first two are time and batch, or
// batch and time where batch_first. REQUIRES 0 <= lengths[b] <= the extent of time.
class ReversedPlaces final : public RowPlaces {
 public:
  ReversedPlaces(int64_t first, int64_t second, int64_t inner, bool batch_first, const int64_t* lengths);
  void find(int64_t begin, int64_t end, int64_t* places) const override;

 private:
  int64_t second_;
  bool batch_first_;
  const int64_t* lengths_;
};

// Pad of the modes that take what they add from the source: a row is one element, that of the result. The source is
// first cropped by the numbers below 0; the positions of what is left, of n elements on an axis, are then continued on
// both sides: kEdge by the last one, kReflect by 1, 2, ... n - 1, n - 2, ... without repeating an end (by the one
// element where n is 1), kWrap by starting anew. REQUIRES 2^60 or less in each number, and n >= 1 on every axis unless
// the result is empty.
enum class PadMode { kEdge, kReflect, kWrap };
class PaddedPlaces final : public RowPlaces {
 public:
  PaddedPlaces(PadMode mode, std::span<const int64_t> src_dims, std::span<const int64_t> before,
               std::span<const int64_t> after);
  void find(int64_t begin, int64_t end, int64_t* places) const override;

 private:
  struct Axis {
    int64_t extent, before, first, left, step;  // of the result; added; of what is left of the source: first, count
  };
  int64_t place_on(const Axis& axis, int64_t i) const;

  PadMode mode_;
  ScratchVector<Axis> axes_;
};

}  // namespace isobit::kernels
