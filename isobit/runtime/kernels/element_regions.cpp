// Elements of regions of images made small, and of what flows back through that (kernels/detection/regions.h).
#include <algorithm>
#include <array>

#include "isobit/graph/ops/sources.h"
#include "isobit/kernels/detection/bins.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/runtime/element_formula.h"
#include "isobit/runtime/kernels/region_rules.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

using graph::ElementQuery;
using graph::ElementSource;
using Sources = std::vector<ElementSource>;
using Coordinates = graph::ops::Coordinates;

void append_range(Sources& sources, int input, int64_t begin, int64_t count) {
  if (graph::ops::too_many(count) || graph::ops::too_many(static_cast<int64_t>(sources.size()) + count)) {
    sources = graph::ops::more_than_listed();
    return;
  }
  for (int64_t i = 0; i < count; ++i) sources.push_back({input, begin + i});
}

// --- RoiAlign ---

// A region's two axes in bins. Its numbers are those of input 1; `shape` is that of images and regions.
struct AlignedRegion {
  k::Bins rows, columns;
  AlignedRegion(const ElementQuery& q, const k::RegionShape& s, const k::AlignRule& rule, int64_t region)
      : rows(number(q, region, 1), number(q, region, 3), s.pooled_h, s.h, rule),
        columns(number(q, region, 0), number(q, region, 2), s.pooled_w, s.w, rule) {}
  bool is_finite() const { return rows.is_finite() && columns.is_finite(); }
  double count() const { return static_cast<double>(std::max<int64_t>(rows.samples * columns.samples, 1)); }
  // More samples than anybody looks at.
  bool too_many() const { return graph::ops::too_many(std::array{rows.samples, columns.samples}); }

 private:
  static double number(const ElementQuery& q, int64_t region, int64_t i) { return q.guide_at(1, region * 4 + i).real; }
};

// The place in the plane of each of the four elements of a sample, and its weight.
struct Corners {
  std::array<int64_t, 4> places;
  std::array<double, 4> weights;
  Corners(const k::Bins::Sample& y, const k::Bins::Sample& x, int64_t width) {
    const double uy = 1 - y.l, ux = 1 - x.l;
    places = {y.low * width + x.low, y.low * width + x.high, y.high * width + x.low, y.high * width + x.high};
    weights = {uy * ux, uy * x.l, y.l * ux, y.l * x.l};
  }
};

// (src, rois, batch_indices) -> [regions, c, bins ..]
struct Aligned {
  Coordinates at;
  k::RegionShape shape;
  k::AlignRule rule;
  AlignedRegion region;
  explicit Aligned(const ElementQuery& q)
      : at(graph::ops::coordinates_of(q.dims(), q.element)),
        shape(region_shape(q.inputs[0], q.dims())),
        rule(align_rule(q.node.attributes)),
        region(q, shape, rule, at[0]) {}

  // f(y, x) of every sample, row by row.
  template <class F>
  void for_each_sample(F f) const {
    for (int64_t iy = 0; iy < region.rows.samples; ++iy) {
      for (int64_t ix = 0; ix < region.columns.samples; ++ix) {
        f(region.rows.sample(at[2], iy), region.columns.sample(at[3], ix));
      }
    }
  }
  bool any_outside() const {
    bool any = false;
    for_each_sample([&](const auto& y, const auto& x) { any |= y.outside || x.outside; });
    return any;
  }
};

Sampled aligned(const ElementQuery& q) {
  const Aligned a(q);
  const int64_t image = q.guide_at(2, a.at[0]).integer;
  Sampled sampled;
  if (image < 0 || image >= q.inputs[0][0]) return {.sources = {{0, -1}}, .weights = {0}};
  if (!a.region.is_finite()) return sampled;
  if (a.region.too_many()) return {.sources = graph::ops::more_than_listed(), .weights = {0}};
  const int64_t first = (image * a.shape.c + a.at[1]) * a.shape.h * a.shape.w;
  a.for_each_sample([&](const auto& y, const auto& x) {
    if (y.outside || x.outside) return;
    const Corners corners(y, x, a.shape.w);
    for (size_t i = 0; i < 4; ++i) {
      sampled.sources.push_back({0, first + corners.places[i]});
      sampled.weights.push_back(corners.weights[i]);
    }
  });
  return sampled;
}

bool is_largest(const graph::Node& node) { return align_rule(node.attributes).max; }

// Computed in float64, whatever the type.
ElementFormula aligned_formula() {
  return {.term = term_of([]<class T>(const FormulaTerms<T>& t) {
            T sum = static_cast<T>(t.weights[0]) * t.each[0];
            for (size_t i = 1; i < t.each.size(); ++i) sum = sum + static_cast<T>(t.weights[i]) * t.each[i];
            return sum;
          }),
          .end = end_of([]<class T>(const FormulaTerms<T>& t, T folded, int64_t count) {
            const Aligned a(t.query);
            if (!a.region.is_finite()) return numerics::canonical(static_cast<T>(numerics::nan_f64()));
            if (!a.rule.max) return k::reference::canonical(folded / static_cast<T>(a.region.count()));
            if (count == 0) return T(0);
            return a.any_outside() && k::reference::greater(T(0), folded) ? T(0) : folded;
          }),
          .in_double = true,
          .fold_by = [](const graph::Node& node) { return is_largest(node) ? Fold::kMaximum : Fold::kAdded; },
          .sampled = aligned,
          .guides = {[](const ElementQuery& q) {
            const int64_t region = graph::ops::coordinates_of(q.dims(), q.element)[0];
            Sources guides = {{2, region}};
            append_range(guides, 1, region * 4, 4);
            return guides;
          }},
          .each_by = [](const ElementQuery& q) -> size_t { return is_largest(q.node) ? 1 : 4; }};
}

// Of one axis: for each bin the samples that lie at this place, with either of their two places.
std::vector<std::vector<k::Bins::Sample>> samples_at(const k::Bins& bins, int64_t pooled, int64_t place) {
  std::vector<std::vector<k::Bins::Sample>> samples(static_cast<size_t>(pooled));
  for (int64_t p = 0; p < pooled; ++p) {
    for (int64_t i = 0; i < bins.samples; ++i) {
      const k::Bins::Sample s = bins.sample(p, i);
      if (!s.outside && (s.low == place || s.high == place)) samples[static_cast<size_t>(p)].push_back(s);
    }
  }
  return samples;
}

// (diff_dst [regions, c, bins ..], rois, batch_indices) -> diff_src
Sampled given_by_regions(const ElementQuery& q) {
  const k::RegionShape s = region_shape(q.dims(), q.inputs[0]);
  const k::AlignRule rule = align_rule(q.node.attributes);
  const Coordinates at = graph::ops::coordinates_of(q.dims(), q.element);
  const int64_t here = at[2] * s.w + at[3];
  Sampled sampled;
  for (int64_t r = 0; r < s.regions; ++r) {
    if (q.guide_at(2, r).integer != at[0]) continue;
    const AlignedRegion region(q, s, rule, r);
    if (!region.is_finite()) continue;
    if (region.too_many() || graph::ops::too_many(std::array{s.pooled_h, s.pooled_w}) ||
        graph::ops::too_many(std::array{s.pooled_h, region.rows.samples}) ||
        graph::ops::too_many(std::array{s.pooled_w, region.columns.samples})) {
      return {.sources = graph::ops::more_than_listed(), .weights = {0}};
    }
    const auto rows = samples_at(region.rows, s.pooled_h, at[2]),
               columns = samples_at(region.columns, s.pooled_w, at[3]);
    const auto add_bin = [&](size_t ph, size_t pw) {
      const int64_t bin = static_cast<int64_t>(ph) * s.pooled_w + static_cast<int64_t>(pw);
      for (const k::Bins::Sample& y : rows[ph]) {
        for (const k::Bins::Sample& x : columns[pw]) {
          const Corners corners(y, x, s.w);
          for (size_t i = 0; i < 4; ++i) {
            if (corners.places[i] != here) continue;
            sampled.sources.push_back({0, (r * s.c + at[1]) * s.pooled_h * s.pooled_w + bin});
            sampled.weights.push_back(corners.weights[i] / region.count());
          }
        }
      }
    };
    for (size_t ph = 0; ph < rows.size(); ++ph) {
      for (size_t pw = 0; pw < columns.size(); ++pw) add_bin(ph, pw);
    }
  }
  return sampled;
}

// --- MaxRoiPool ---

// Region r of input `rois`, in images of these dimensions.
k::PooledRegion<double> pooled_region(const ElementQuery& q, int rois, const k::RegionShape& s, int64_t images,
                                      int64_t r) {
  std::array<double, 5> numbers;
  for (int64_t i = 0; i < 5; ++i) numbers[static_cast<size_t>(i)] = q.guide_at(rois, r * 5 + i).real;
  return {s, images, q.node.attributes.real("spatial_scale", 1), numbers.data()};
}

// The places of a bin, row by row.
Sources places_in(const k::PooledRegion<double>& region, const k::RegionShape& s, int input, int64_t plane, int64_t ph,
                  int64_t pw) {
  Sources places;
  for (int64_t y = region.rows.first_of(ph); y < region.rows.end_of(ph); ++y) {
    const int64_t first = region.columns.first_of(pw), end = region.columns.end_of(pw);
    append_range(places, input, (plane * s.h + y) * s.w + first, std::max<int64_t>(end - first, 0));
  }
  return places;
}

// (src, rois)
Sampled pooled(const ElementQuery& q) {
  const k::RegionShape s = region_shape(q.inputs[0], q.dims());
  const Coordinates at = graph::ops::coordinates_of(q.dims(), q.element);
  const k::PooledRegion<double> region = pooled_region(q, 1, s, q.inputs[0][0], at[0]);
  if (region.image < 0) return {};
  return {.sources = places_in(region, s, 0, region.image * s.c + at[1], at[2], at[3])};
}

// (diff_dst, src, rois) -> diff_src: f(bin of diff_dst, its places in src) of every bin over the element, by region.
template <class F>
void for_each_bin_over(const ElementQuery& q, F f) {
  const k::RegionShape s = region_shape(q.dims(), q.inputs[0]);
  const Coordinates at = graph::ops::coordinates_of(q.dims(), q.element);
  for (int64_t r = 0; r < s.regions; ++r) {
    const k::PooledRegion<double> region = pooled_region(q, 2, s, q.dims()[0], r);
    if (region.image != at[0]) continue;
    for (int64_t ph = 0; ph < s.pooled_h; ++ph) {
      if (at[2] < region.rows.first_of(ph) || at[2] >= region.rows.end_of(ph)) continue;
      for (int64_t pw = 0; pw < s.pooled_w; ++pw) {
        if (at[3] < region.columns.first_of(pw) || at[3] >= region.columns.end_of(pw)) continue;
        f(((r * s.c + at[1]) * s.pooled_h + ph) * s.pooled_w + pw,
          places_in(region, s, 1, at[0] * s.c + at[1], ph, pw));
      }
    }
  }
}

Sampled given_by_bins(const ElementQuery& q) {
  Sampled sampled;
  for_each_bin_over(q, [&](int64_t bin, const Sources& places) {
    const ElementSource* best = nullptr;
    for (const ElementSource& place : places) {
      const auto x = [&](const ElementSource& s) { return q.guide_at(1, s.element).real; };
      if (best == nullptr || k::reference::greater(x(place), x(*best))) best = &place;
    }
    if (best->element == q.element) sampled.sources.push_back({0, bin});
  });
  return sampled;
}

}  // namespace

void add_region_formulas(FormulaTable& table) {
  table["RoiAlign"] = {{aligned_formula()}};
  const auto all_regions = [](const ElementQuery& q) {
    Sources guides;
    append_range(guides, 1, 0, q.inputs[1][0] * 4);
    append_range(guides, 2, 0, q.inputs[2][0]);
    return guides;
  };
  table["isobit.RoiAlignGrad"] = {{{.fold = Fold::kSum,
                                    .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                      return static_cast<T>(t.weights[0] * static_cast<double>(t.each[0]));
                                    }),
                                    .sampled = given_by_regions,
                                    .guides = {all_regions}}}};
  table["MaxRoiPool"] = {{{.fold = Fold::kMaximum,
                           .end = end_of([]<class T>(const FormulaTerms<T>&, T largest, int64_t count) {
                             return count == 0 ? T(0) : largest;
                           }),
                           .sampled = pooled,
                           .guides = {[](const ElementQuery& q) {
                             Sources guides;
                             append_range(guides, 1, graph::ops::coordinates_of(q.dims(), q.element)[0] * 5, 5);
                             return guides;
                           }}}}};
  const auto numbers = [](const ElementQuery& q) {
    Sources guides;
    append_range(guides, 2, 0, q.inputs[2][0] * 5);
    return guides;
  };
  const auto candidates = [](const ElementQuery& q) {
    Sources guides;
    for_each_bin_over(
        q, [&](int64_t, const Sources& places) { guides.insert(guides.end(), places.begin(), places.end()); });
    std::ranges::sort(guides, {}, &ElementSource::element);
    guides.erase(std::unique(guides.begin(), guides.end()), guides.end());
    return guides;
  };
  table["isobit.MaxRoiPoolGrad"] = {{{.fold = Fold::kSum, .sampled = given_by_bins, .guides = {numbers, candidates}}}};
}

}  // namespace isobit::runtime
