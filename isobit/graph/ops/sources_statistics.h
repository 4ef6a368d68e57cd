// Which elements statistics are made of, and what is made with them (element.h). A rule is put together from parts:
// what is taken once, and what each term of a sum takes.
#pragma once

#include <vector>

#include "isobit/graph/ops/sources.h"

namespace isobit::graph::ops {

// Which element of an operand belongs to an element of input 0.
enum class Where : uint8_t {
  kElement,  // the one of the same number
  kGroup,    // the one of its group: of its row, or of its channel
  kPlace,    // the one of its place in the row, where the operand broadcasts to a row
};
struct Part {
  int number = 0;
  Where where = Where::kElement;
  bool of_statistic = false;
};
using Parts = std::vector<Part>;

inline Part element_of(int input) { return {input, Where::kElement}; }
inline Part group_of(int input) { return {input, Where::kGroup}; }
inline Part place_of(int input) { return {input, Where::kPlace}; }
inline Part statistic_of_group(int number) { return {number, Where::kGroup, true}; }
inline Part statistic_of_element(int number) { return {number, Where::kElement, true}; }

// Rows are the axes of input 0 from attribute axis (-1) on; channels are its axis 1. Parts that are absent inputs are
// left out.
//
// Of an output as large as input 0: the parts of its element.
SourceRule in_rows(Parts parts);
SourceRule in_channels(Parts parts);
// Of an array with one element for each row, or each channel: the parts of its group once, then those of each of the
// group's elements, in ascending order.
SourceRule over_row(Parts once, Parts each);
SourceRange over_channel(Parts once, Parts each);
// Of an array as large as a row: the parts of every element at this place, row by row.
SourceRange over_rows(Parts each);

// The same where element s of row t of T is masked unless s <= t + S - T (isobit.CausalSoftmax): nothing of masked
// ones.
SourceRule in_visible(Parts parts);
SourceRule over_visible(Parts once, Parts each);

// Of reductions over attribute axes of input 0, in arrays that have 1 for what is reduced: the statistics of the cell
// and all its elements; of an element of input 0 that, the element of its cell of input 1 and its cell's statistics.
SourceRange over_kept_cell(std::vector<int> statistics);
SourceRule in_kept_cell(std::vector<int> statistics);
// Of a reduction whose cells are those of of_cell.
SourceRange over_cell(std::vector<int> statistics);

// These statistics, each the element of the same number; and the only element of each.
SourceRule same_of_statistics(std::vector<int> statistics);
SourceRule only_of_statistics(std::vector<int> statistics, bool and_element = false);
// All elements of a statistic.
SourceRange all_of_statistic(int number);

// The loss of a row from its largest element, the logarithm of its sum and the element of its label (input 1).
Sources of_labelled(const ElementQuery& q);
// The channels of a window around the element's (LRN), at the same place.
Sources of_channel_window(const ElementQuery& q);
// All elements of every input, one after the other.
NumberedSources of_everything(const ElementQuery& q);
// The line along attribute axis that the element is of, in which an output may have other extents or no axis.
SourceRule of_line(int64_t fallback_axis);

}  // namespace isobit::graph::ops
