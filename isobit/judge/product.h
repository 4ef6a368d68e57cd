// The terms of one output of an inner product, by the one description of products (kernels/product/).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isobit/judge/question.h"
#include "isobit/judge/words.h"
#include "isobit/kernels/product/geometry.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::judge {

// Elements of inputs 0 and 1 that are multiplied; -1: there is none, and it is +0 (padding, and what no window meets).
struct ProductPair {
  int64_t first = -1, second = -1;
};

// A line of an operand: `base` is where its batch begins.
struct ProductLine {
  kernels::product::Side side;
  int64_t base = 0, line = 0;

  int64_t element(int64_t l) const {
    const int64_t offset = side.offset(line, l);
    return offset < 0 ? -1 : base + offset;
  }
};

// Pair l is element l of both lines; the written order is another. However many there are, nobody lists them.
struct ProductTerms {
  ProductLine first, second;
  int64_t count = 0;
  kernels::product::Order order;
  int64_t bias = -1;  // of input 2; -1: there is none

  ProductPair pair(int64_t l) const { return {first.element(l), second.element(l)}; }
};

// REQUIRES a question about output 0 of an inner product.
ProductTerms product_terms(const Question& q);

// The elements in the written order, missing ones left out: of each pair first input 0, then input 1; then the bias.
std::vector<graph::ElementSource> sources_of(const ProductTerms& terms);
// Of terms [begin, end) of the written order alone.
std::vector<graph::ElementSource> sources_of(const ProductTerms& terms, int64_t begin, int64_t end);

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

// f(p, the elements of its pair) for terms [begin, end) of the written order. values: of sources_of these,
// one by one; what is missing is +0. T: float, double.
template <class T, class F>
void for_each_term(const ProductTerms& terms, std::span<const Bits> values, int64_t begin, int64_t end, F f) {
  size_t next = 0;
  for (int64_t p = begin; p < end; ++p) {
    const ProductPair pair = terms.pair(terms.order.element(p));
    const T first = pair.first >= 0 ? from_word<T>(values[next++]) : T(0);
    const T second = pair.second >= 0 ? from_word<T>(values[next++]) : T(0);
    f(p, first, second);
  }
}

// Adds terms [begin, end), chunks ended where they end.
template <class State, class T>
void add_terms(State& state, const ProductTerms& terms, std::span<const Bits> values, int64_t begin, int64_t end) {
  for_each_term<T>(terms, values, begin, end, [&](int64_t p, T first, T second) {
    state.add(first, second);
    const bool last = p + 1 == terms.count;
    if (last || terms.order.chunk_of(p + 1) != terms.order.chunk_of(p)) state.end_chunk();
  });
}

}  // namespace isobit::judge
