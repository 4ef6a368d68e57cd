// How far two tensors lie apart, element by element.
//
// Determinism class: exact counts and bits everywhere; the differences are single float64 operations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/numerics/remaining_precision.h"

namespace isobit::lab::deviation {

// A tensor of any type that a record names: row-major, little-endian.
struct TensorView {
  std::string dtype;
  std::vector<int64_t> dims;
  ByteView bytes;
};

// The format of a type of floating-point numbers; none for any other.
std::optional<numerics::FloatFormat> float_format(const std::string& dtype);

struct PairFigures {
  uint64_t elements = 0, differing = 0;  // differing: in any bit
  // Of floating-point numbers only: the least remaining precision of an element and the largest distance in ulp.
  std::optional<int> remaining_precision;
  std::optional<uint64_t> ulp;  // UINT64_MAX: a NaN and a number
  // Over elements that are finite in both: the largest |a - b| and |a - b| / max(|a|, |b|). Differences of integers are
  // exact before they are float64; one beyond float64 is its largest finite number, the quotient then 2 at most.
  double absolute = 0, relative = 0;
  double scale = 0;         // the largest finite magnitude in either
  uint64_t not_finite = 0;  // elements of which one is finite and the other is not, or that are two infinities or such

  // The fraction of differing elements; 0 where there are none.
  double l0() const;
  // Of several outputs together.
  void include(const PairFigures& other);
};

// None where the two cannot be compared element by element: other types, other dimensions, or a number of bytes that
// is not theirs. Integers (8 to 64 bits) and bool have differences, but neither precision nor ulp; of other types only
// bytes are compared, each as an element.
std::optional<PairFigures> compare(const TensorView& a, const TensorView& b);

// Whether rows of such a tensor can have labels: a floating-point type, one or two dimensions, two elements or more to
// a row.
bool has_labels(const std::string& dtype, const std::vector<int64_t>& dims);

// The label of each row, a row being the last dimension: the first place of its largest element, a NaN never being the
// largest; -1 where all are NaNs. None unless has_labels() and the bytes are those of the dimensions.
std::optional<std::vector<int64_t>> labels_of(const TensorView& tensor);

}  // namespace isobit::lab::deviation
