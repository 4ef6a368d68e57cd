#include "isobit/graph/ops/sources_statistics.h"

#include <algorithm>
#include <utility>

namespace isobit::graph::ops {
namespace {

int64_t product_of(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (const int64_t d : dims) product *= d;
  return product;
}

// Elements of input 0 in groups.
struct Rows {
  explicit Rows(const ElementQuery& q) {
    const std::vector<int64_t>& src = q.inputs[0];
    row.assign(src.begin() + static_cast<std::ptrdiff_t>(axis_of(q, -1, src.size())), src.end());
    length = product_of(row);
    rows = length == 0 ? 0 : product_of(src) / length;
  }
  int64_t group(int64_t e) const { return e / length; }
  std::vector<int64_t> row;
  int64_t length, rows;
};
struct Channels {
  explicit Channels(const ElementQuery& q)
      : images(q.inputs[0][0]), channels(q.inputs[0][1]), places(product_of(std::span(q.inputs[0]).subspan(2))) {}
  int64_t group(int64_t e) const { return e / places % channels; }
  std::vector<int64_t> row;  // there is none
  int64_t length = 1;
  int64_t images, channels, places;
};

template <class Groups>
ElementSource part_at(const ElementQuery& q, const Groups& groups, const Part& p, int64_t e) {
  int64_t at = e;
  if (p.where == Where::kGroup) at = groups.group(e);
  if (p.where == Where::kPlace) {
    at = broadcast_element(q.inputs[static_cast<size_t>(p.number)], coordinates_of(groups.row, e % groups.length));
  }
  return {p.number, at, p.of_statistic};
}

template <class Groups>
void add_parts(Sources& to, const ElementQuery& q, const Groups& groups, const Parts& parts, int64_t e) {
  for (const Part& p : parts) {
    if (p.of_statistic || q.has(p.number)) to.push_back(part_at(q, groups, p, e));
  }
}

Parts present(const ElementQuery& q, Parts parts) {
  std::erase_if(parts, [&](const Part& p) { return !p.of_statistic && !q.has(p.number); });
  return parts;
}

// The parts of element `first` once, then those of each of `count` elements of input 0, of which element_of(t) is the
// number of the one that term t has.
template <class Groups, class ElementOf>
NumberedSources numbered_terms(const ElementQuery& q, Groups groups, Parts once, Parts each, int64_t first,
                               int64_t count, ElementOf element_of_term) {
  once = present(q, std::move(once));
  each = present(q, std::move(each));
  const auto of_once = static_cast<int64_t>(once.size()), of_each = static_cast<int64_t>(each.size());
  return {of_once + count * of_each, [=, &q](int64_t i) {
            if (i < of_once) return part_at(q, groups, once[static_cast<size_t>(i)], first);
            const int64_t t = (i - of_once) / of_each;
            return part_at(q, groups, each[static_cast<size_t>((i - of_once) % of_each)], element_of_term(t));
          }};
}

// The elements of these statistics with this number, then what is numbered from 0.
NumberedSources behind_statistics(Sources statistics, NumberedSources numbered) {
  const auto before = static_cast<int64_t>(statistics.size());
  return {before + numbered.count, [=, statistics = std::move(statistics), numbered = std::move(numbered)](int64_t i) {
            return i < before ? statistics[static_cast<size_t>(i)] : numbered.at(i - before);
          }};
}

// How many elements of this row are not masked.
int64_t visible(const ElementQuery& q, int64_t row) {
  const std::vector<int64_t>& src = q.inputs[0];
  const int64_t keys = src.back(), queries = src[src.size() - 2];
  return std::clamp<int64_t>(row % queries + keys - queries + 1, 0, keys);
}

Sources over_first_of_row(const ElementQuery& q, const Parts& once, const Parts& each, int64_t count) {
  const Rows rows(q);
  const int64_t first = q.element * rows.length;
  if (too_many(count)) return more_than_listed();
  Sources sources;
  add_parts(sources, q, rows, once, first);
  for (int64_t e = first; e < first + count; ++e) add_parts(sources, q, rows, each, e);
  return sources;
}

// The cell of an element of input 0 in an array that has 1 for the axes of attribute axes.
int64_t kept_cell(const ElementQuery& q, int64_t e) {
  const std::vector<int64_t>& src = q.inputs[0];
  std::vector<int64_t> kept = src;
  for (const int64_t axis : q.node.attributes.integers("axes", {})) {
    kept[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(src.size()) : axis)] = 1;
  }
  return broadcast_element(kept, coordinates_of(src, e));
}

Sources these(const std::vector<int>& statistics, int64_t element) {
  Sources sources;
  for (const int s : statistics) sources.push_back({s, element, true});
  return sources;
}

}  // namespace

SourceRule in_rows(Parts parts) {
  return [parts = std::move(parts)](const ElementQuery& q) {
    Sources sources;
    add_parts(sources, q, Rows(q), parts, q.element);
    return sources;
  };
}

SourceRule in_channels(Parts parts) {
  return [parts = std::move(parts)](const ElementQuery& q) {
    Sources sources;
    add_parts(sources, q, Channels(q), parts, q.element);
    return sources;
  };
}

SourceRule over_row(Parts once, Parts each) {
  return [once = std::move(once), each = std::move(each)](const ElementQuery& q) {
    return over_first_of_row(q, once, each, Rows(q).length);
  };
}

SourceRange over_channel(Parts once, Parts each) {
  return [once = std::move(once), each = std::move(each)](const ElementQuery& q) {
    const Channels channels(q);
    const int64_t channel = q.element, places = channels.places, image = channels.channels * places;
    return numbered_terms(q, channels, once, each, channel * places, channels.images * places,
                          [=](int64_t t) { return t / places * image + channel * places + t % places; });
  };
}

SourceRange over_rows(Parts each) {
  return [each = std::move(each)](const ElementQuery& q) {
    const Rows rows(q);
    const int64_t length = rows.length, place = q.element;
    return numbered_terms(q, rows, {}, each, 0, rows.rows, [=](int64_t t) { return t * length + place; });
  };
}

SourceRule in_visible(Parts parts) {
  return [parts = std::move(parts)](const ElementQuery& q) {
    const Rows rows(q);
    Sources sources;
    const bool is_visible = q.element % rows.length < visible(q, rows.group(q.element));
    if (is_visible) add_parts(sources, q, rows, parts, q.element);
    return sources;
  };
}

SourceRule over_visible(Parts once, Parts each) {
  return [once = std::move(once), each = std::move(each)](const ElementQuery& q) {
    return over_first_of_row(q, once, each, visible(q, q.element));
  };
}

SourceRange over_kept_cell(std::vector<int> statistics) {
  return [statistics = std::move(statistics)](const ElementQuery& q) {
    const std::vector<int64_t>&src = q.inputs[0], &kept = q.dims();
    std::vector<bool> reduced;
    for (size_t a = 0; a < src.size(); ++a) reduced.push_back(kept[a] != src[a]);
    return behind_statistics(these(statistics, q.element),
                             places_of_box(0, src, coordinates_of(kept, q.element), reduced));
  };
}

SourceRule in_kept_cell(std::vector<int> statistics) {
  return [statistics = std::move(statistics)](const ElementQuery& q) {
    const int64_t cell = kept_cell(q, q.element);
    Sources sources = {{0, q.element}, {1, cell}};
    const Sources more = these(statistics, cell);
    sources.insert(sources.end(), more.begin(), more.end());
    return sources;
  };
}

SourceRange over_cell(std::vector<int> statistics) {
  return [statistics = std::move(statistics)](const ElementQuery& q) {
    return behind_statistics(these(statistics, q.element), of_cell(q));
  };
}

SourceRule same_of_statistics(std::vector<int> statistics) {
  return [statistics = std::move(statistics)](const ElementQuery& q) { return these(statistics, q.element); };
}

SourceRule only_of_statistics(std::vector<int> statistics, bool and_element) {
  return [statistics = std::move(statistics), and_element](const ElementQuery& q) {
    Sources sources = these(statistics, 0);
    if (and_element) sources.insert(sources.begin(), {0, q.element});
    return sources;
  };
}

SourceRange all_of_statistic(int number) {
  return [number](const ElementQuery& q) {
    return NumberedSources{product_of(q.statistics[static_cast<size_t>(number)]), [number](int64_t e) {
                             return ElementSource{number, e, true};
                           }};
  };
}

Sources of_labelled(const ElementQuery& q) {
  const int64_t classes = q.inputs[0][1], label = integer_at(q, 1, q.element);
  if (label < 0 || label >= classes) return no_such_element();
  return {{0, q.element, true}, {1, q.element, true}, {0, q.element * classes + label}};
}

Sources of_channel_window(const ElementQuery& q) {
  const Channels at(q);
  const int64_t size = q.node.attributes.integer("size", 1), channel = at.group(q.element);
  const int64_t first = channel - std::min(channel, (size - 1) / 2);
  const int64_t last = channel + std::min(at.channels - 1 - channel, size / 2);
  if (too_many(last - first)) return more_than_listed();
  Sources sources;
  for (int64_t c = first; c <= last; ++c) sources.push_back({0, q.element + (c - channel) * at.places});
  return sources;
}

NumberedSources of_everything(const ElementQuery& q) {
  std::vector<int64_t> behind;  // of each input's elements among all
  int64_t count = 0;
  for (size_t i = 0; i < q.inputs.size(); ++i) {
    if (q.has(static_cast<int>(i))) count += product_of(q.inputs[i]);
    behind.push_back(count);
  }
  return {
      count, [behind = std::move(behind)](int64_t e) {
        const auto input = std::upper_bound(behind.begin(), behind.end(), e) - behind.begin();
        return ElementSource{static_cast<int>(input), e - (input == 0 ? 0 : behind[static_cast<size_t>(input) - 1])};
      }};
}

SourceRule of_line(int64_t fallback_axis) {
  return [fallback_axis](const ElementQuery& q) {
    const std::vector<int64_t>& src = q.inputs[0];
    const size_t axis = axis_of(q, fallback_axis, src.size());
    Coordinates at = coordinates_of(q.dims(), q.element);
    if (at.size() < src.size()) at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    if (too_many(src[axis])) return more_than_listed();
    Sources sources;
    for (at[axis] = 0; at[axis] < src[axis]; ++at[axis]) sources.push_back({0, element_at(src, at)});
    return sources;
  };
}

}  // namespace isobit::graph::ops
