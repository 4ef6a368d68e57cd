// The terms of one output in the order in which `ordered-1` adds them: what the chunk and block sums of matmul.h are
// sums of. For whoever follows a single output (a referee, a trace, a test); so far only tests do. Kernels lay many out
// at a time.
#pragma once

#include <cstdint>

#include "isobit/kernels/product/lines.h"

namespace isobit::kernels::product {

// Terms of one chunk are neighbours; a chunk sum starts at +0 and takes fma(a, b, sum). The left operand's element is
// `left`. The two may be exchanged: fma(a, b, c) = fma(b, a, c).
template <class T>
struct WrittenTerm {
  T left, right;
  int64_t chunk;
};

template <class T>
class WrittenTerms {
 public:
  // batch: of a product whose geometry has this order; must outlive this.
  WrittenTerms(const Matrices<T>& batch, const Order& order, int64_t i, int64_t j)
      : batch_(batch), order_(order), i_(i), j_(j) {}

  int64_t count() const { return batch_.k; }
  // The p-th. REQUIRES 0 <= p < count().
  WrittenTerm<T> operator[](int64_t p) const {
    const int64_t l = order_.element(p);
    return {batch_.left.element(i_, l), batch_.right.element(j_, l), order_.chunk_of(p)};
  }

 private:
  const Matrices<T>& batch_;
  const Order order_;
  int64_t i_, j_;
};

}  // namespace isobit::kernels::product
