// Elements of sums, extremes and products over axes, of pooling and of what is given back to where elements were taken
// from. Elements come in the order of their sources (graph/ops/).
#include "isobit/graph/ops/sources.h"
#include "isobit/kernels/determinant/determinant.h"
#include "isobit/kernels/pool/pool_nd.h"
#include "isobit/kernels/quantize/quantize.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/kernels/sampling/affine_grid.h"
#include "isobit/runtime/element_formula.h"
#include "isobit/runtime/kernels/windows.h"

namespace isobit::runtime {

namespace {

namespace r = kernels::reference;

// (q)
ElementFormula root() {
  return pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) { return r::canonical(r::sqrt_of(t.once[0])); });
}

void add_reductions(FormulaTable& table) {
  table["ReduceSum"] = {{folded(Fold::kSum)}};
  table["isobit.SumTo"] = {{folded(Fold::kSum)}};
  table["CumSum"] = {{folded(Fold::kSum)}};
  table["ReduceMean"] = {{folded(Fold::kMean)}};
  table["ReduceMax"] = {{folded(Fold::kMaximum)}};
  table["ReduceMin"] = {{folded(Fold::kMinimum)}};
  table["ReduceProd"] = {{folded(Fold::kProduct)}};
  table["ReduceSumSquare"] = {{folded(Fold::kSquares)}, {folded(Fold::kSquares)}};
  table["ReduceL2"] = {{root()}, {folded(Fold::kSquares)}};
  table["isobit.GlobalNorm"] = {{root()}, {folded(Fold::kSquares)}};

  // (m; x ..): how many are equal to m.
  const ElementFormula count = {.fold = Fold::kSum, .once = 1, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                                                 return t.each[0] == t.once[0] ? T(1) : T(0);
                                                               })};
  ElementFormula extreme;
  extreme.fold_by = [](const graph::Node& node) {
    return node.attributes.integer("largest", 1) != 0 ? Fold::kMaximum : Fold::kMinimum;
  };
  // (x, dy, m, k)
  table["isobit.ReduceMaxGrad"] = {{pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
                                     const T g = r::canonical(t.once[1] / t.once[3]);
                                     return t.once[0] == t.once[2] ? g : T(0);
                                   })},
                                   {extreme, count}};
  // (the others .., dy)
  table["isobit.ReduceProdGrad"] = {{pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const size_t others = t.once.size() - 1;
    size_t own = 0;
    while (own < others && t.from[own].element < t.query.element) ++own;
    T before = 1, behind = 1;
    for (size_t i = 0; i < own; ++i) before = before * t.once[i];
    for (size_t i = others; i-- > own;) behind = behind * t.once[i];
    const T product = before * behind;
    return r::canonical(t.once[others] * product);
  })}};
}

// Of the windows of a pooling of an image whose [n, c, ..] are these.
std::vector<kernels::SlidingAxis> windows_over(const graph::ElementQuery& q, const std::vector<int64_t>& image) {
  const std::span<const int64_t> extents = graph::ops::image_of(image);
  return sliding_axes(*graph::ops::read_windows(q.node.attributes, extents, {}), extents);
}

// By how much a window is divided: its taps inside the image, or also those on its padding. window: its number among
// those of all planes.
int64_t divisor_of(const graph::ElementQuery& q, const std::vector<kernels::SlidingAxis>& axes, int64_t window) {
  const bool padded = q.node.attributes.integer("count_include_pad", 0) != 0;
  int64_t count = 1;
  for (size_t a = axes.size(); a-- > 0; window /= axes[a].out) {
    const int64_t o = window % axes[a].out;
    count *= padded ? axes[a].padded_taps_of(o) : axes[a].taps_of(o).length();
  }
  return count;
}

// A place among all of src, which has -1 for none; numbered in either order within a plane.
int64_t pooled_place(const graph::ElementQuery& q, const graph::ElementSource* largest) {
  if (largest == nullptr) return -1;
  if (q.node.attributes.integer("storage_order", 0) == 0) return largest->element;
  const std::span<const int64_t> image = graph::ops::image_of(q.inputs[0]);
  int64_t area = 1, place = 0, step = 1;
  for (const int64_t d : image) area *= d;
  const graph::ops::Coordinates at = graph::ops::coordinates_of(image, largest->element % area);
  for (size_t a = 0; a < at.size(); step *= image[a], ++a) place += at[a] * step;
  return largest->element / area * area + place;
}

int64_t degree_of(const graph::ElementQuery& q) { return q.node.attributes.integer("p", 2); }

void add_pooling(FormulaTable& table) {
  table["MaxPool"] = {{folded(Fold::kMaximum), {.fold = Fold::kFirstPlace, .place = pooled_place}}};
  const ElementFormula norm = {
      .fold = Fold::kSum,
      .term = term_of([]<class T>(const FormulaTerms<T>& t) {
        return static_cast<T>(kernels::lp_power(static_cast<double>(t.each[0]), degree_of(t.query)));
      }),
      .end = end_of([]<class T>(const FormulaTerms<T>& t, T sum, int64_t) {
        return static_cast<T>(kernels::lp_root(static_cast<double>(sum), degree_of(t.query)));
      }),
      .in_double = true};
  table["LpPool"] = {{norm}};
  table["GlobalLpPool"] = {{norm}};
  table["GlobalMaxPool"] = {{folded(Fold::kMaximum)}};
  table["GlobalAveragePool"] = {{folded(Fold::kMean)}};
  table["AveragePool"] = {{{.fold = Fold::kSum, .end = end_of([]<class T>(const FormulaTerms<T>& t, T sum, int64_t) {
                                                  const int64_t count =
                                                      divisor_of(t.query, windows_over(t.query, t.query.inputs[0]),
                                                                 t.query.element);
                                                  return count == 0 ? T(0) : r::canonical(sum / static_cast<T>(count));
                                                })}}};
  table["isobit.AveragePoolGrad"] = {
      {{.fold = Fold::kAdded, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                const auto axes = windows_over(t.query, t.query.dims());
                                return t.each[0] / static_cast<T>(divisor_of(t.query, axes, t.from->element));
                              })}}};
  table["isobit.MaxPoolGrad"] = {{folded(Fold::kAdded)}};
  table["isobit.GlobalAveragePoolGrad"] = {{pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    int64_t area = 1;
    for (const int64_t d : graph::ops::image_of(t.query.dims())) area *= d;
    return r::canonical(t.once[0] / static_cast<T>(area));
  })}};
}

// (x, u ..): the element and what is combined with it.
ElementFormula combined() {
  ElementFormula formula;
  formula.fold_by = [](const graph::Node& node) {
    const std::string reduction = node.attributes.text("reduction", "none");
    if (reduction == "add") return Fold::kSum;
    if (reduction == "mul") return Fold::kProduct;
    return reduction == "max" ? Fold::kMaximum : Fold::kMinimum;
  };
  formula.moves_one = [](const graph::Node&) { return true; };
  return formula;
}

// (x ..): the least, or the largest, of them and of 0.
ElementFormula end_of_range(Fold fold) {
  return {.fold = fold, .end = end_of([fold]<class T>(const FormulaTerms<T>&, T extreme, int64_t count) {
                          if (count == 0) return T(0);
                          if (extreme != extreme) return r::canonical(extreme);
                          return (fold == Fold::kMinimum ? extreme < 0 : extreme > 0) ? extreme : T(0);
                        })};
}

}  // namespace

void add_sum_formulas(FormulaTable& table) {
  add_reductions(table);
  add_pooling(table);
  // (a row of theta) -> [n, points .., rank]
  table["AffineGrid"] = {{pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const std::vector<int64_t>& grid = t.query.dims();
    const auto image = std::span(grid).subspan(1, grid.size() - 2);
    int64_t points = 1;
    for (const int64_t d : image) points *= d;
    const bool align_corners = t.query.node.attributes.integer("align_corners", 0) != 0;
    return kernels::affine_number(image, align_corners, t.once.data(), t.query.element / grid.back() % points);
  })}};
  table["ScatterElements"] = {{combined()}};
  table["ScatterND"] = {{combined()}};
  table["Col2Im"] = {{folded(Fold::kAdded)}};
  // (a matrix)
  table["Det"] = {{pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    ThreadPool pool(1);
    T determinant = T(0);
    kernels::determinant(kernels::KernelContext{kernels::Isa::kReference, &pool}, 1, t.query.inputs[0].back(),
                         t.once.data(), &determinant);
    return determinant;
  })}};
  table["isobit.EmbeddingGrad"] = {{folded(Fold::kSum)}};
  for (const char* op : {"isobit.GatherGrad", "isobit.GatherElementsGrad", "isobit.GatherNDGrad", "isobit.PadGrad"}) {
    table[op] = {{folded(Fold::kSumFromZero)}};
  }
  // (low, high) -> the scale, the zero point
  const ElementFormula scale = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    return kernels::dynamic_scale<T>({t.once[0], t.once[1]}).scale;
  });
  const ElementFormula zero_point = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    return static_cast<T>(kernels::dynamic_scale<T>({t.once[0], t.once[1]}).zero_point);
  });
  // (x, low, high) -> a number of 0 to 255
  const ElementFormula quantized = pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const kernels::DynamicScale<T> to = kernels::dynamic_scale<T>({t.once[1], t.once[2]});
    uint8_t y = 0;
    ThreadPool pool(1);
    kernels::quantize(kernels::KernelContext{kernels::Isa::kReference, &pool}, {.inner = 1}, &t.once[0], &to.scale,
                      &to.zero_point, &y);
    return static_cast<T>(y);
  });
  table["DynamicQuantizeLinear"] = {{quantized, scale, zero_point},
                                    {end_of_range(Fold::kMinimum), end_of_range(Fold::kMaximum)}};
}

const ElementFormulas* element_formulas(const graph::Node& node) {
  static const FormulaTable kTable = [] {
    FormulaTable table;
    add_softmax_formulas(table);
    add_norm_formulas(table);
    add_sum_formulas(table);
    add_sampling_formulas(table);
    add_region_formulas(table);
    return table;
  }();
  const auto found = kTable.find(node.op);
  return found == kTable.end() ? nullptr : &found->second;
}

}  // namespace isobit::runtime
