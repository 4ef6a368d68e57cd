// The terms of one output of an inner product, by the one description of products (kernels/product/).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isobit/judge/question.h"
#include "isobit/kernels/product/geometry.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::judge {

// Elements of inputs 0 and 1 that are multiplied; -1: there is none, and it is +0 (padding, and what no window meets).
struct ProductPair {
  int64_t first = -1, second = -1;
};

// Pair l is element l of both lines; the written order is another.
struct ProductTerms {
  std::vector<ProductPair> pairs;
  kernels::product::Order order;
  int64_t bias = -1;  // of input 2; -1: there is none

  int64_t count() const { return static_cast<int64_t>(pairs.size()); }
};

// REQUIRES a question about output 0 of an inner product.
ProductTerms product_terms(const Question& q);

// The elements in the written order, missing ones left out: of each pair first input 0, then input 1; then the bias.
std::vector<graph::ElementSource> sources_of(const ProductTerms& terms);

// The values of these elements, pair l at [l], missing ones +0. T: float, double.
template <class T>
struct ProductValues {
  std::vector<T> first, second;
  T bias = T(0);
};
template <class T>
ProductValues<T> values_in(const ProductTerms& terms, std::span<const Bits> values);

// The sum of an inner product as a state that takes terms in the written order. Ordered: T float or double, the chunk
// and block sums of kernels/matmul/matmul.h. Correct: floats, one exact sum.
template <class T>
class OrderedState {
 public:
  void add(T a, T b);
  void end_chunk();
  T value(const T* bias) const;  // REQUIRES that a chunk has just ended, or no term
  std::vector<uint64_t> words() const;
  bool restore(const std::vector<uint64_t>& words);

 private:
  T chunk_ = T(0), block_ = T(0), result_ = T(0);
  int64_t chunks_ = 0;
};

class ExactState {
 public:
  void add(float a, float b) { sum_.add_product(a, b); }
  void end_chunk() {}
  float value(const float* bias) const;
  std::vector<uint64_t> words() const;
  bool restore(const std::vector<uint64_t>& words);

 private:
  numerics::ExactAccumulator sum_;
};

// Terms [begin, end) of the written order, chunks ended where they end.
template <class State, class T>
void add_terms(State& state, const ProductTerms& terms, const ProductValues<T>& values, int64_t begin, int64_t end) {
  for (int64_t p = begin; p < end; ++p) {
    const auto l = static_cast<size_t>(terms.order.element(p));
    state.add(values.first[l], values.second[l]);
    const bool last = p + 1 == terms.count();
    if (last || terms.order.chunk_of(p + 1) != terms.order.chunk_of(p)) state.end_chunk();
  }
}

}  // namespace isobit::judge
