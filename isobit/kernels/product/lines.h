// Single lines of an inner product's operands, and the products as matrices of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isobit/kernels/product/geometry.h"

namespace isobit::kernels::product {

// One side of one batch at its data, which is not owned. T is any type whose T{0} is the +0 of a missing element;
// instantiated for float and double (lines.cpp).
template <class T>
class Lines {
 public:
  Lines() = default;
  // data: where the batch begins; null if it has no elements.
  Lines(const Side& side, const T* data) : side_(side), data_(data) {}

  int64_t count() const { return side_.lines; }
  int64_t k() const { return side_.k; }
  const Side& side() const { return side_; }
  const T* data() const { return data_; }

  // Element l of a line.
  T element(int64_t line, int64_t l) const;
  // The k elements of a line.
  void read(int64_t line, T* to) const;
  // to[q * k + l] = element l of lines[q].
  void read(std::span<const int64_t> lines, T* to) const;
  // The line where its elements are neighbours in memory, else null, as without terms. All lines of a side are alike in
  // this.
  const T* contiguous(int64_t line) const {
    const Strides& s = side_.strides;
    const bool neighbours = side_.kind == SideKind::kStrided && s.inner == 1 && s.period >= side_.k && side_.k > 0;
    return neighbours ? data_ + line * s.line : nullptr;
  }
  // Makes ready what read() of the line will need.
  void prefetch(int64_t line) const;

  // Where element l of any line lies: for looking at the same elements of many lines.
  struct Place {
    int64_t offset = 0;
    int32_t row = 0, column = 0;
  };
  Place place(int64_t l) const;
  // to[q] = the element of the line at places[q].
  void gather(int64_t line, const std::vector<Place>& places, T* to) const;

 private:
  void read_window(int64_t line, T* to) const;

  Side side_;
  const T* data_ = nullptr;
};

// One batch of a product: a matrix m x n of its own.
template <class T>
struct Matrices {
  int64_t m = 0, n = 0, k = 0;
  Lines<T> left, right;
  T* out = nullptr;  // where its outputs begin, `offset` elements after those of the product
  int64_t offset = 0;
  Placement place;                 // within the batch
  const T* row_bias = nullptr;     // length m; at most one of the two
  const T* column_bias = nullptr;  // length n

  // Output (i, j) is out[at(i, j)].
  int64_t at(int64_t i, int64_t j) const { return i * place.row_stride + place.column(j); }
  T bias(int64_t i, int64_t j) const {
    return row_bias != nullptr ? row_bias[i] : column_bias != nullptr ? column_bias[j] : T{0};
  }
};

// REQUIRES 0 <= batch < the geometry's.
template <class T>
Matrices<T> batch_of(const Product<T>& p, int64_t batch) {
  const Geometry& g = p.geometry;
  // Null arrays are those without elements: nothing is added to them.
  const auto from = [](auto* data, int64_t offset) { return data != nullptr ? data + offset : nullptr; };
  Matrices<T> b;
  b.m = g.m;
  b.n = g.n;
  b.k = g.k;
  b.left = {g.left, from(p.left, batch * g.left.batch_stride)};
  b.right = {g.right, from(p.right, batch * g.right.batch_stride)};
  b.offset = g.out.first + batch * g.out.batch_stride;
  b.out = from(p.out, b.offset);
  b.place = g.out;
  b.place.first = 0;
  (g.bias_side == BiasSide::kRows ? b.row_bias : b.column_bias) = from(p.bias, batch * g.bias_batch_stride);
  return b;
}

extern template class Lines<float>;
extern template class Lines<double>;

}  // namespace isobit::kernels::product
