// Elements of normalisations; letters as in kernels/norm/. Elements come in the order of their sources
// (graph/ops/norm.cpp).
#include "isobit/kernels/norm/formulas.h"
#include "isobit/runtime/element_formula.h"

namespace isobit::runtime {

namespace {

namespace r = kernels::reference;

template <class T>
T epsilon_of(const FormulaTerms<T>& t) {
  return static_cast<T>(t.query.node.attributes.real("epsilon", 1e-5));
}

// How many elements a row has, and how many a channel.
int64_t row_length(const graph::ElementQuery& q) {
  const std::vector<int64_t>& src = q.inputs[0];
  const int64_t axis = q.node.attributes.integer("axis", -1);
  int64_t length = 1;
  for (size_t a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(src.size()) : axis); a < src.size(); ++a) {
    length *= src[a];
  }
  return length;
}
int64_t channel_size(const graph::ElementQuery& q) {
  const std::vector<int64_t>& src = q.inputs[0];
  int64_t size = src[0];
  for (size_t a = 2; a < src.size(); ++a) size *= src[a];
  return size;
}

// dy * h, of the mean and of r; the term of the gradients of scales.
template <class T>
T scaled_term(T x, T dy, T mean, T inverse_root) {
  const T h = r::normalised(x, mean, inverse_root);
  const T p = dy * h;
  return p;
}

// Of an element whose channel or row has these sums over its `count` elements.
template <class T>
T centred_of(T g, T h, T sum_g, T sum_gh, int64_t count) {
  const T a = sum_g / static_cast<T>(count), b = sum_gh / static_cast<T>(count);
  return r::centred_of(g, h, a, b);
}

// (mean; x ..)
ElementFormula variance() { return {.fold = Fold::kVariance, .once = 1}; }

void add_batch_norm(FormulaTable& table) {
  // (mean, var; x, dy ..)
  const ElementFormula diff_scale = {
      .fold = Fold::kSum, .once = 2, .each = 2, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                                  return scaled_term(t.each[0], t.each[1], t.once[0],
                                                                     r::inverse_root_of(t.once[1], epsilon_of(t)));
                                                })};
  const ElementFormula diff_bias = folded(Fold::kSum);
  // (x, mean, var, scale, dy, diff_scale, diff_bias)
  const ElementFormula diff_src = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const T root = r::inverse_root_of(t.once[2], epsilon_of(t));
    const T k = t.once[3] * root, h = r::normalised(t.once[0], t.once[1], root);
    const T w = centred_of(t.once[4], h, t.once[6], t.once[5], channel_size(t.query));
    return r::canonical(w * k);
  });
  table["isobit.BatchStatistics"] = {{folded(Fold::kExactMean), variance()}, {folded(Fold::kExactMean)}};
  table["isobit.BatchNormGrad"] = {{diff_src, diff_scale, diff_bias}, {diff_scale, diff_bias}};
}

void add_layer_norm(FormulaTable& table) {
  // (x, mean, var, scale[, bias])
  const ElementFormula dst = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const T h = r::normalised(t.once[0], t.once[1], r::inverse_root_of(t.once[2], epsilon_of(t)));
    return r::scaled_of(h, t.once[3], t.once.size() > 4 ? &t.once[4] : nullptr);
  });
  // (var)
  const ElementFormula inv_std = pointwise(
      []<class T>(const FormulaTerms<T>& t, T, int64_t) { return r::inverse_root_of(t.once[0], epsilon_of(t)); });
  table["LayerNormalization"] = {{dst, folded(Fold::kExactMean), inv_std}, {folded(Fold::kExactMean), variance()}};

  // (scale, dy ..)
  const ElementFormula sum_g = {.fold = Fold::kSum, .each = 2, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                                                 const T g = t.each[1] * t.each[0];
                                                                 return g;
                                                               })};
  // (mean, inv_std; x, scale, dy ..)
  const ElementFormula sum_gh = {
      .fold = Fold::kSum, .once = 2, .each = 3, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                                  const T g = t.each[2] * t.each[1];
                                                  return scaled_term(t.each[0], g, t.once[0], t.once[1]);
                                                })};
  // (x, mean, inv_std, scale, dy, sum_g, sum_gh)
  const ElementFormula diff_src = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const T g = t.once[4] * t.once[3], h = r::normalised(t.once[0], t.once[1], t.once[2]);
    const T w = centred_of(g, h, t.once[5], t.once[6], row_length(t.query));
    return r::canonical(w * t.once[2]);
  });
  // (x, mean, inv_std, dy ..)
  const ElementFormula diff_scale = {
      .fold = Fold::kSum, .each = 4, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                       return scaled_term(t.each[0], t.each[3], t.each[1], t.each[2]);
                                     })};
  table["isobit.LayerNormGrad"] = {{diff_src, diff_scale, folded(Fold::kSum)}, {sum_g, sum_gh}};
}

template <class T>
T root_of_squares(const FormulaTerms<T>& t, T squares) {
  return r::inverse_root_of(r::mean_square_of(squares, row_length(t.query)), epsilon_of(t));
}

void add_rms_norm(FormulaTable& table) {
  // (x, q, scale)
  const ElementFormula dst = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const T h = t.once[0] * root_of_squares(t, t.once[1]);
    return r::canonical(h * t.once[2]);
  });
  table["RMSNormalization"] = {{dst}, {folded(Fold::kSquares)}};
  // (q; x, scale, dy ..)
  const ElementFormula sum_gh = {
      .fold = Fold::kSum, .once = 1, .each = 3, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                                  const T g = t.each[2] * t.each[1],
                                                          h = t.each[0] * root_of_squares(t, t.once[0]);
                                                  const T e = g * h;
                                                  return e;
                                                })};
  // (x, scale, dy, q, sum_gh)
  const ElementFormula diff_src = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const T root = root_of_squares(t, t.once[3]), h = t.once[0] * root, g = t.once[2] * t.once[1];
    const T b = t.once[4] / static_cast<T>(row_length(t.query));
    const T v = h * b;
    const T w = g - v;
    return r::canonical(w * root);
  });
  // (x, q, dy ..)
  const ElementFormula diff_scale = {
      .fold = Fold::kSum, .each = 3, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                       const T h = t.each[0] * root_of_squares(t, t.each[1]);
                                       const T p = t.each[2] * h;
                                       return p;
                                     })};
  table["isobit.RmsNormGrad"] = {{diff_src, diff_scale}, {folded(Fold::kSquares), sum_gh}};
}

}  // namespace

void add_norm_formulas(FormulaTable& table) {
  add_batch_norm(table);
  add_layer_norm(table);
  add_rms_norm(table);
  // (x, q)
  const ElementFormula response = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const graph::Attributes& given = t.query.node.attributes;
    const r::ResponseNorm<T> factors = {static_cast<T>(given.real("alpha", 1e-4)),
                                        static_cast<T>(given.real("beta", 0.75)), static_cast<T>(given.real("bias", 1)),
                                        given.integer("size", 1)};
    return r::response_norm_of(t.once[0], t.once[1], factors);
  });
  table["LRN"] = {{response}, {folded(Fold::kSquares)}};
}

}  // namespace isobit::runtime
