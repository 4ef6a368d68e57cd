// Elements of images sampled at places that follow from attributes (Resize) or from coordinates, and of what flows back
// through that. Which elements they are made of is asked of the same arithmetic as the kernels'.
#include <algorithm>

#include "isobit/graph/ops/sources.h"
#include "isobit/numerics/bits.h"
#include "isobit/runtime/element_formula.h"
#include "isobit/runtime/kernels/sampling_rules.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

using graph::ElementQuery;
using graph::ElementSource;
using Sources = std::vector<ElementSource>;
using Dims = std::vector<int64_t>;

int64_t product_of(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (const int64_t d : dims) product *= d;
  return product;
}

Sources range_of(int input, int64_t begin, int64_t count) {
  if (graph::ops::too_many(count)) return graph::ops::more_than_listed();
  Sources sources;
  for (int64_t i = 0; i < count; ++i) sources.push_back({input, begin + i});
  return sources;
}

// The elements that are taken, in the place of the plane that they are of (near_places.h).
struct Taken {
  std::span<const double> elements;
  mutable size_t next = 0;
  double operator[](int64_t) const { return elements[next++]; }
};

// Where a point is in an image of these extents.
struct Point {
  Dims extents;
  ScratchVector<k::NearPlaces> places = {};

  bool is_finite() const {
    return std::ranges::all_of(places, [](const k::NearPlaces& p) { return p.is_finite(); });
  }
  // f(place in the plane, weight) of every combination of taps, row-major; of none where it is not finite.
  template <class F>
  void for_each(F f) const {
    if (is_finite()) k::for_each_place(std::span<const k::NearPlaces>(places), extents.data(), f);
  }
  size_t combinations() const {
    size_t count = 0;
    for_each([&](int64_t, double) { ++count; });
    return count;
  }
  double value(std::span<const double> elements) const {
    return k::value_at(std::span<const k::NearPlaces>(places), extents.data(), Taken{elements});
  }
  double slope(size_t axis, std::span<const double> elements) const {
    return k::slope_at(std::span<const k::NearPlaces>(places), axis, extents.data(), Taken{elements});
  }
};

// What a place is given back (give_back.h): its terms are T(weight * x).
ElementFormula given_back(std::vector<graph::SourceRule> guides, std::function<Sampled(const ElementQuery&)> sampled) {
  return {.fold = Fold::kSum,
          .term = term_of([]<class T>(const FormulaTerms<T>& t) {
            return static_cast<T>(t.weights[0] * static_cast<double>(t.each[0]));
          }),
          .sampled = std::move(sampled),
          .guides = std::move(guides)};
}

// --- Resize (sample.h) ---

// The taps of one place: lines of all axes but the last, and those along the last; `plain`: that is the identity.
struct ResizedPlace {
  std::vector<k::WeightedPlace> lines, last;
  bool plain = false;
};

// back: of the gradient, where src are the dimensions of what is made.
ResizedPlace resized_place(const ElementQuery& q, const Dims& src, bool back) {
  const graph::Attributes& a = q.node.attributes;
  const auto axes = resize_axes(a, src, [&](int i) { return !back && q.has(i) ? q.operand(i) : nullptr; });
  const graph::ops::Coordinates at = graph::ops::coordinates_of(q.dims(), q.element);
  ResizedPlace place{.lines = {{0, 1}}, .last = {}};
  for (size_t i = 0; i < axes.size(); ++i) {
    k::AxisTaps taps = k::resize_taps(axes[i], resize_rule(a));
    if (back) taps = k::transposed(taps);
    const bool is_last = i + 1 == axes.size();
    std::vector<k::WeightedPlace> here = {{at[i], 1}};
    if (!taps.is_identity()) here.assign(taps.of(at[i]).begin(), taps.of(at[i]).end());
    if (is_last) {
      place.plain = taps.is_identity();
      place.last = here;
      break;
    }
    std::vector<k::WeightedPlace> longer;
    for (const k::WeightedPlace& line : place.lines) {
      for (const k::WeightedPlace& tap : here) {
        longer.push_back({line.place * taps.in() + tap.place, line.weight * tap.weight});
      }
    }
    place.lines = std::move(longer);
  }
  return place;
}

// Whether the taps of all places are more than anybody lists: of an axis with that many places, or of a place.
bool has_too_many_taps(const ElementQuery& q, const Dims& src, bool back) {
  constexpr int64_t kMostPlaces = int64_t{1} << 20;
  const Dims& other = back ? q.inputs[0] : q.dims();
  std::vector<int64_t> taps;
  for (size_t a = 0; a < src.size(); ++a) {
    if (std::max(src[a], other[a]) > kMostPlaces) return true;
    if (src[a] != other[a])
      taps.push_back(4 + 2 * (std::max(src[a], other[a]) / std::max<int64_t>(1, std::min(src[a], other[a]))));
  }
  return graph::ops::too_many(taps);
}

// For each tap along the last axis those of its lines.
Sampled resized_from(const ElementQuery& q, const Dims& src, bool back) {
  if (has_too_many_taps(q, src, back)) return {.sources = graph::ops::more_than_listed()};
  const ResizedPlace place = resized_place(q, src, back);
  Sampled sampled;
  for (const k::WeightedPlace& tap : place.last) {
    for (const k::WeightedPlace& line : place.lines) {
      sampled.sources.push_back({0, line.place * q.inputs[0].back() + tap.place});
    }
  }
  return sampled;
}

double resized_value(const ResizedPlace& place, std::span<const double> elements, double outside) {
  if (elements.empty()) return outside;
  size_t next = 0;
  double v = 0;
  for (const k::WeightedPlace& tap : place.last) {
    double r = 0;
    for (const k::WeightedPlace& line : place.lines) r += line.weight * elements[next++];
    if (place.plain) return r;
    v += tap.weight * r;
  }
  return v;
}

bool takes_places(const graph::Node& node) { return resize_rule(node.attributes).mode == k::Interpolation::kNearest; }

template <class F>
InBoth<EndRule> in_double_end(F f) {
  return end_of([f]<class T>(const FormulaTerms<T>& t, T folded, int64_t) {
    if constexpr (sizeof(T) == 8) {
      return numerics::canonical(f(t, folded));
    } else {
      ISOBIT_CHECK(!"computed in float64");
      return folded;
    }
  });
}

void add_resizing(FormulaTable& table) {
  table["Resize"] = {{{.end = in_double_end([](const FormulaTerms<double>& t, double) {
                         const double outside = t.query.node.attributes.real("extrapolation_value", 0);
                         return resized_value(resized_place(t.query, t.query.inputs[0], false), t.once, outside);
                       }),
                       .in_double = true,
                       .moves_one = takes_places,
                       .sampled = [](const ElementQuery& q) { return resized_from(q, q.inputs[0], false); }}}};
  table["isobit.ResizeGrad"] = {{{.end = in_double_end([](const FormulaTerms<double>& t, double) {
                                    return resized_value(resized_place(t.query, t.query.dims(), true), t.once, 0);
                                  }),
                                  .in_double = true,
                                  .sampled = [](const ElementQuery& q) { return resized_from(q, q.dims(), true); }}}};
}

// --- GridSample (grid_sample.h) ---

Dims image_of(const Dims& dims) {
  const std::span<const int64_t> image = graph::ops::image_of(dims);
  return {image.begin(), image.end()};
}

// The point whose coordinates are `rank` elements of input `grid` from `first` on.
Point grid_point(const ElementQuery& q, int grid, int64_t first, Dims image, bool with_slopes) {
  const k::PointRule rule = point_rule(q.node.attributes);
  Point point{.extents = std::move(image)};
  for (size_t a = 0; a < point.extents.size(); ++a) {
    const auto number = first + static_cast<int64_t>(point.extents.size() - 1 - a);
    const double g = q.guide_at(grid, number).real;
    point.places.emplace_back(k::grid_place(g, point.extents[a], rule.align_corners), point.extents[a], rule,
                              with_slopes);
  }
  return point;
}

// (src [n, c, image ..], grid [n, points .., rank]): the first coordinate of the point of an element of the output.
int64_t point_of_output(const ElementQuery& q) {
  const int64_t points = product_of(graph::ops::image_of(q.dims()));
  return (q.element / (points * q.dims()[1]) * points + q.element % points) * q.inputs[1].back();
}

Point sampled_point(const ElementQuery& q) {
  return grid_point(q, 1, point_of_output(q), image_of(q.inputs[0]), false);
}

// (diff_dst [n, c, points ..], grid): every point of the image, and what it gives the element.
struct GivingPoints {
  int64_t points, plane, image;
  explicit GivingPoints(const ElementQuery& q)
      : points(product_of(graph::ops::image_of(q.inputs[0]))),
        plane(q.element / product_of(graph::ops::image_of(q.dims()))),
        image(plane / q.dims()[1]) {}
};

Sampled given_by_points(const ElementQuery& q) {
  const GivingPoints from(q);
  const Dims image = image_of(q.dims());
  const int64_t here = q.element % product_of(image), rank = q.inputs[1].back();
  Sampled sampled;
  for (int64_t p = 0; p < from.points; ++p) {
    grid_point(q, 1, (from.image * from.points + p) * rank, image, false).for_each([&](int64_t place, double weight) {
      if (place != here) return;
      sampled.sources.push_back({0, from.plane * from.points + p});
      sampled.weights.push_back(weight);
    });
  }
  return sampled;
}

// (diff_dst, src, grid): the point that a coordinate is of.
Point own_point(const ElementQuery& q) {
  const int64_t rank = q.dims().back();
  return grid_point(q, 2, q.element / rank * rank, image_of(q.inputs[1]), true);
}

// Of each channel the element of diff_dst and those of src.
Sampled of_channels(const Point& point, int64_t channels, int64_t first_diff, int64_t diff_step, int64_t first_plane) {
  Sampled sampled;
  if (!point.is_finite()) return sampled;
  if (graph::ops::too_many(channels)) return {.sources = graph::ops::more_than_listed()};
  const int64_t area = product_of(point.extents);
  for (int64_t c = 0; c < channels; ++c) {
    sampled.sources.push_back({0, first_diff + c * diff_step});
    point.for_each([&](int64_t place, double) { sampled.sources.push_back({1, (first_plane + c) * area + place}); });
  }
  return sampled;
}

Sampled of_own_point(const ElementQuery& q) {
  const int64_t points = product_of(graph::ops::image_of(q.inputs[0])), channels = q.inputs[0][1];
  const int64_t p = q.element / q.dims().back(), first = p / points * channels;
  return of_channels(own_point(q), channels, first * points + p % points, points, first);
}

// diff * slope of a channel, whose elements of src lie behind that of diff.
InBoth<TermRule> slope_of(std::function<Point(const ElementQuery&)> point,
                          std::function<size_t(const ElementQuery&)> axis) {
  return term_of([=]<class T>(const FormulaTerms<T>& t) {
    if constexpr (sizeof(T) == 8) {
      return t.each[0] * point(t.query).slope(axis(t.query), t.each.subspan(1));
    } else {
      ISOBIT_CHECK(!"computed in float64");
      return T(0);
    }
  });
}

void add_grids(FormulaTable& table) {
  table["GridSample"] = {
      {{.end = in_double_end([](const FormulaTerms<double>& t, double) {
          const Point point = sampled_point(t.query);
          return point.is_finite() ? point.value(t.once) : numerics::nan_f64();
        }),
        .in_double = true,
        .sampled =
            [](const ElementQuery& q) {
              const int64_t area = product_of(graph::ops::image_of(q.inputs[0]));
              const int64_t plane = q.element / product_of(graph::ops::image_of(q.dims()));
              Sampled sampled;
              sampled_point(q).for_each([&](int64_t place, double) {
                sampled.sources.push_back({0, plane * area + place});
              });
              return sampled;
            },
        .guides = {[](const ElementQuery& q) { return range_of(1, point_of_output(q), q.inputs[1].back()); }}}}};
  const auto all_points = [](const ElementQuery& q) {
    const GivingPoints from(q);
    const int64_t each = from.points * q.inputs[1].back();
    return range_of(1, from.image * each, each);
  };
  table["isobit.GridSampleGradSrc"] = {{given_back({all_points}, given_by_points)}};
  const auto axis_of = [](const ElementQuery& q) {
    return static_cast<size_t>(q.dims().back() - 1 - q.element % q.dims().back());
  };
  table["isobit.GridSampleGradGrid"] = {
      {{.fold = Fold::kAdded,
        .term = slope_of(own_point, axis_of),
        .end = in_double_end([axis_of](const FormulaTerms<double>& t, double sum) {
          const Point point = own_point(t.query);
          const auto extent = static_cast<double>(point.extents[axis_of(t.query)]);
          const bool align_corners = point_rule(t.query.node.attributes).align_corners;
          return point.is_finite() ? sum * ((align_corners ? extent - 1 : extent) / 2) : numerics::nan_f64();
        }),
        .in_double = true,
        .sampled = of_own_point,
        .guides = {[](const ElementQuery& q) {
          return range_of(2, q.element / q.dims().back() * q.dims().back(), q.dims().back());
        }},
        .each_by = [](const ElementQuery& q) { return 1 + own_point(q).combinations(); }}}};
}

// --- DeformIm2Col (deform.h) ---

// Window w under a tap; `item` counts images, groups and taps, and lies in input `offset`.
struct DeformPlace {
  k::DeformShape shape;
  int64_t item = 0, window = 0;

  int64_t group() const { return item / shape.taps(); }  // of all images
  int64_t tap() const { return item % shape.taps(); }
  int64_t channels() const { return shape.c / shape.groups; }
  Sources offsets(int offset) const {
    const int64_t windows = shape.windows(), down = item * 2 * windows + window;
    return {{offset, down}, {offset, down + windows}};
  }
  Point point(const ElementQuery& q, int offset, bool with_slopes) const {
    const k::SlidingAxis &rows = shape.rows, &columns = shape.columns;
    const Sources moved = offsets(offset);
    const auto y = static_cast<double>(rows.at(window / columns.out, tap() / columns.size)),
               x = static_cast<double>(columns.at(window % columns.out, tap() % columns.size));
    Point point{.extents = {rows.in, columns.in}};
    point.places.emplace_back(y + q.guide_at(offset, moved[0].element).real, rows.in, k::PointRule{}, with_slopes);
    point.places.emplace_back(x + q.guide_at(offset, moved[1].element).real, columns.in, k::PointRule{}, with_slopes);
    return point;
  }
};

// Of an element of the matrix [n, c * taps, windows] over src.
struct MatrixPlace : DeformPlace {
  int64_t channel = 0;  // of all images
  MatrixPlace(const ElementQuery& q, const Dims& src) {
    shape = deform_shape(q.node.attributes, src);
    window = q.element % shape.windows();
    channel = q.element / shape.windows() / shape.taps();
    item = channel / channels() * shape.taps() + q.element / shape.windows() % shape.taps();
  }
};

// Of an element of offset.
struct OffsetPlace : DeformPlace {
  size_t axis = 0;
  explicit OffsetPlace(const ElementQuery& q) {
    shape = deform_shape(q.node.attributes, q.inputs[1]);
    window = q.element % shape.windows();
    axis = static_cast<size_t>(q.element / shape.windows() % 2);
    item = q.element / shape.windows() / 2;
  }
};

// (src, offset[, mask]): what the place is made of, then the mask.
Sampled deformed(const ElementQuery& q) {
  const MatrixPlace at(q, q.inputs[0]);
  const Point point = at.point(q, 1, false);
  const int64_t area = product_of(point.extents);
  Sampled sampled;
  point.for_each([&](int64_t place, double) { sampled.sources.push_back({0, at.channel * area + place}); });
  if (q.has(2) && point.is_finite()) sampled.sources.push_back({2, at.item * at.shape.windows() + at.window});
  return sampled;
}

// (diff_matrix, offset) -> diff_src
struct GivingWindows {
  k::DeformShape shape;
  int64_t channel, group;  // of all images
  explicit GivingWindows(const ElementQuery& q)
      : shape(deform_shape(q.node.attributes, q.dims())),
        channel(q.element / (shape.rows.in * shape.columns.in)),
        group(channel / (shape.c / shape.groups)) {}
};

Sampled given_by_windows(const ElementQuery& q) {
  const GivingWindows from(q);
  const int64_t here = q.element % (from.shape.rows.in * from.shape.columns.in), taps = from.shape.taps();
  Sampled sampled;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t w = 0; w < from.shape.windows(); ++w) {
      const DeformPlace at{.shape = from.shape, .item = from.group * taps + tap, .window = w};
      at.point(q, 1, false).for_each([&](int64_t place, double weight) {
        if (place != here) return;
        sampled.sources.push_back({0, (from.channel * taps + tap) * from.shape.windows() + w});
        sampled.weights.push_back(weight);
      });
    }
  }
  return sampled;
}

// (diff_matrix, src, offset) -> diff_offset
Point offset_point(const ElementQuery& q) { return OffsetPlace(q).point(q, 2, true); }

Sampled of_own_offset(const ElementQuery& q) {
  const OffsetPlace at(q);
  const int64_t step = at.shape.taps() * at.shape.windows(), first = at.group() * at.channels();
  const int64_t first_diff = (first * at.shape.taps() + at.tap()) * at.shape.windows() + at.window;
  return of_channels(offset_point(q), at.channels(), first_diff, step, first);
}

void add_deformed(FormulaTable& table) {
  table["isobit.DeformIm2Col"] = {
      {{.end = in_double_end([](const FormulaTerms<double>& t, double) {
          const Point point = MatrixPlace(t.query, t.query.inputs[0]).point(t.query, 1, false);
          if (!point.is_finite()) return numerics::nan_f64();
          return point.value(t.once) * (t.query.has(2) ? t.once.back() : 1);
        }),
        .in_double = true,
        .sampled = deformed,
        .guides = {[](const ElementQuery& q) { return MatrixPlace(q, q.inputs[0]).offsets(1); }}}}};
  const auto of_group = [](const ElementQuery& q) {
    const GivingWindows from(q);
    const int64_t each = from.shape.taps() * 2 * from.shape.windows();
    return range_of(1, from.group * each, each);
  };
  table["isobit.DeformIm2ColGradSrc"] = {{given_back({of_group}, given_by_windows)}};
  table["isobit.DeformIm2ColGradOffset"] = {
      {{.fold = Fold::kAdded,
        .term = slope_of(offset_point, [](const ElementQuery& q) { return OffsetPlace(q).axis; }),
        .end = in_double_end([](const FormulaTerms<double>& t, double sum) {
          return offset_point(t.query).is_finite() ? sum : numerics::nan_f64();
        }),
        .in_double = true,
        .sampled = of_own_offset,
        .guides = {[](const ElementQuery& q) { return OffsetPlace(q).offsets(2); }},
        .each_by = [](const ElementQuery& q) { return 1 + offset_point(q).combinations(); }}}};
}

}  // namespace

void add_sampling_formulas(FormulaTable& table) {
  add_resizing(table);
  add_grids(table);
  add_deformed(table);
}

}  // namespace isobit::runtime
