#include "isobit/judge/product.h"

#include "isobit/graph/ops/sources.h"
#include "isobit/kernels/matmul/ordered_inner_product.h"
#include "isobit/runtime/kernels/linear.h"

namespace isobit::judge {
namespace {

using kernels::product::Direction;
using kernels::product::Geometry;

struct Cell {
  int64_t batch = 0, i = 0, j = 0;
};

int64_t behind(const std::vector<int64_t>& dims, size_t axis) {
  int64_t product = 1;
  for (size_t a = axis; a < dims.size(); ++a) product *= dims[a];
  return product;
}

// Which output of which group's product an element of a convolution or of one of its gradients is.
Cell cell_of(const kernels::ConvShape& s, Direction direction, const std::vector<int64_t>& dims, int64_t element) {
  const int64_t inner = behind(dims, 2), first = element / (dims[1] * inner), second = element / inner % dims[1];
  const int64_t rest = element % inner;
  if (direction == Direction::kGradWeights) {
    const int64_t of_group = s.oc / s.groups;
    return {first / of_group, first % of_group, second * inner + rest};
  }
  const int64_t of_group = dims[1] / s.groups;
  return {second / of_group, second % of_group, first * inner + rest};
}

// The matrices of a MatMul broadcast to those of its output.
int64_t first_of_matrix(const std::vector<int64_t>& dims, std::span<const int64_t> place) {
  const std::vector<int64_t> leading(dims.begin(), dims.end() - 2);
  return graph::ops::broadcast_element(leading, place.first(place.size() - 2)) * dims[dims.size() - 2] * dims.back();
}

}  // namespace

ProductTerms product_terms(const Question& q) {
  const std::vector<int64_t>&first = q.where.inputs[0], &second = q.where.inputs[1], &out = q.where.dims();
  const runtime::NodeProduct product = runtime::product_of_node(q.where.node, Shape(first), Shape(second), Shape(out));
  const Geometry g = product.geometry();
  ProductTerms terms;
  terms.order = g.order;
  terms.count = g.k;
  if (product.is_matmul) {
    const graph::ops::Coordinates at = graph::ops::coordinates_of(out, q.where.element);
    const int64_t j = at.back();
    terms.first = {g.left, first_of_matrix(first, at), at[at.size() - 2]};
    terms.second = {g.right, first_of_matrix(second, at), j};
    if (q.where.has(2)) terms.bias = j;
    return terms;
  }
  const Cell c = cell_of(product.conv, product.direction, out, q.where.element);
  ISOBIT_CHECK(g.out.at(c.batch, c.i, c.j) == q.where.element);
  terms.first = {g.right, c.batch * g.right.batch_stride, c.j};
  terms.second = {g.left, c.batch * g.left.batch_stride, c.i};
  if (q.where.has(2)) terms.bias = c.batch * g.bias_batch_stride + c.i;
  return terms;
}

std::vector<graph::ElementSource> sources_of(const ProductTerms& terms) {
  std::vector<graph::ElementSource> sources = sources_of(terms, 0, terms.count);
  if (terms.bias >= 0) sources.push_back({2, terms.bias});
  return sources;
}

std::vector<graph::ElementSource> sources_of(const ProductTerms& terms, int64_t begin, int64_t end) {
  std::vector<graph::ElementSource> sources;
  for (int64_t p = begin; p < end; ++p) {
    const ProductPair pair = terms.pair(terms.order.element(p));
    if (pair.first >= 0) sources.push_back({0, pair.first});
    if (pair.second >= 0) sources.push_back({1, pair.second});
  }
  return sources;
}

template <class T>
void OrderedState<T>::add(T a, T b) {
  chunk_ = kernels::reference::fused(a, b, chunk_);
}

template <class T>
void OrderedState<T>::end_chunk() {
  block_ = block_ + chunk_;
  chunk_ = T(0);
  if (++chunks_ < kernels::kChunksPerBlock) return;
  result_ = result_ + block_;
  block_ = T(0);
  chunks_ = 0;
}

template <class T>
T OrderedState<T>::value(const T* bias) const {
  // An empty block is +0, and the result is never -0: no change.
  const T all = result_ + block_;
  return numerics::canonical(bias != nullptr ? all + *bias : all);
}

template <class T>
std::vector<uint64_t> OrderedState<T>::words() const {
  return {word_of(tidy(chunk_)), word_of(tidy(block_)), word_of(tidy(result_)), static_cast<uint64_t>(chunks_)};
}

template <class T>
bool OrderedState<T>::restore(const std::vector<uint64_t>& words) {
  if (words.size() != 4 || words[3] >= static_cast<uint64_t>(kernels::kChunksPerBlock)) return false;
  OrderedState state;
  state.chunk_ = from_word<T>(words[0]);
  state.block_ = from_word<T>(words[1]);
  state.result_ = from_word<T>(words[2]);
  state.chunks_ = static_cast<int64_t>(words[3]);
  if (state.words() != words) return false;
  *this = state;
  return true;
}

float ExactState::value(const float* bias) const {
  numerics::ExactAccumulator all = sum_;
  if (bias != nullptr) all.add(*bias);
  return all.rounded();
}

std::vector<uint64_t> ExactState::words() const {
  std::vector<uint64_t> words;
  append_words(words, sum_);
  return words;
}

bool ExactState::restore(const std::vector<uint64_t>& words) {
  return words.size() == kExactWords && take_words(words, 0, sum_);
}

template class OrderedState<float>;
template class OrderedState<double>;

}  // namespace isobit::judge
