// Which elements an element is made of (element.h), for the definitions of operators.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isobit/graph/element.h"

namespace isobit::graph::ops {

using Coordinates = std::vector<int64_t>;
using Sources = std::vector<ElementSource>;

// An element's place along each axis, and its number there.
Coordinates coordinates_of(std::span<const int64_t> dims, int64_t element);
int64_t element_at(std::span<const int64_t> dims, std::span<const int64_t> at);
// The same of an array that is broadcast to where `at` is a place: an axis of extent 1 has but one.
int64_t broadcast_element(std::span<const int64_t> dims, std::span<const int64_t> at);

// Dimensions of input 0; the output's element as a place; the element of input 0 that is there.
inline const std::vector<int64_t>& src_dims(const ElementQuery& q) { return q.inputs[0]; }
inline Coordinates place_of(const ElementQuery& q) { return coordinates_of(q.dims(), q.element); }
inline Sources from(const ElementQuery& q, const Coordinates& at) { return {{0, element_at(src_dims(q), at)}}; }

// A parameter of the node (parameters.h), as an attribute or behind an input.
std::optional<std::vector<int64_t>> parameter_of(const ElementQuery& q, const char* name, int input);
// Integer number `element` of input i, which has any integer type, or is a truth.
int64_t integer_at(const ElementQuery& q, int i, int64_t element);
// The element that an integer which names none stands for (SourceRule).
Sources no_such_element();
// More than can be listed, whatever the numbers of a shape or an attribute say (kMostListed): what stands for the list.
inline bool too_many(int64_t count) { return count > kMostListed; }
// Whether there are more combinations of one place for each axis.
bool too_many(std::span<const int64_t> extents);
Sources more_than_listed();
// An attribute of the node that names an axis of `rank`.
size_t axis_of(const ElementQuery& q, int64_t fallback, size_t rank);

// The element of the same number of input 0.
Sources same_element(const ElementQuery& q);
// The element of every input there is, broadcast to the output as NumPy does.
Sources broadcast_elements(const ElementQuery& q);
// None: it follows from shapes and attributes.
Sources no_element(const ElementQuery& q);
// The element of input 0, and of every other the one of its channel, axis 1.
Sources of_channel(const ElementQuery& q);
// Of input 0 [rows, columns] the element, of every other the one of its row, or the only one.
Sources of_row(const ElementQuery& q);
// The element, and the scale and the zero point of its tensor, place or block.
Sources of_block(const ElementQuery& q);
// Of an input with these dimensions all places of some axes, and the one of `at` of the others, row-major.
NumberedSources places_of_box(int input, std::vector<int64_t> dims, Coordinates at, const std::vector<bool>& all);
// All of input 0 that the output's element is where the input's shape is broadcast back: reductions and sums.
NumberedSources of_cell(const ElementQuery& q);

// The one element that is moved: sources_movement.cpp, of operators by their names.
Sources transposed(const ElementQuery& q);
Sources expanded(const ElementQuery& q);
Sources tiled(const ElementQuery& q);
Sources concatenated(const ElementQuery& q);
Sources depth_to_space(const ElementQuery& q);
Sources space_to_depth(const ElementQuery& q);
Sources reversed(const ElementQuery& q);
Sources of_triangle(const ElementQuery& q);
Sources sliced(const ElementQuery& q);
Sources slice_put(const ElementQuery& q);
Sources of_the_block(const ElementQuery& q);
Sources block_put(const ElementQuery& q);
Sources padded(const ElementQuery& q);
Sources centered(const ElementQuery& q);
Sources of_part(const ElementQuery& q);

// The same where other operands say which one, or windows do: sources_indexing.cpp.
Sources chosen(const ElementQuery& q);
Sources gathered(const ElementQuery& q);
Sources gathered_elements(const ElementQuery& q);
Sources gathered_parts(const ElementQuery& q);
Sources compressed(const ElementQuery& q);
Sources replaced(const ElementQuery& q);
Sources marked(const ElementQuery& q);
Sources rank_put(const ElementQuery& q);
Sources under_tap(const ElementQuery& q);
Sources unpooled(const ElementQuery& q);
// What says where, of the rules above: the integer that a place looks at, all along its line, or under its windows.
SourceRule index_of_place(int input);
Sources condition_of(const ElementQuery& q);
Sources index_of_gathered(const ElementQuery& q);
Sources tuple_of_gathered(const ElementQuery& q);
Sources begin_of_batch(const ElementQuery& q);
Sources index_of_mark(const ElementQuery& q);
Sources length_of_batch(const ElementQuery& q);
SourceRule indices_of_line(int input, int64_t fallback_axis);
Sources places_of_windows_over(const ElementQuery& q);
// All elements under a window, and those of a whole plane.
Sources in_window(const ElementQuery& q);
Sources of_plane(const ElementQuery& q);

// The terms of other sums: sources_sums.cpp. Position i of an axis behind Pad, before it: -1 where it was added as a
// constant.
int64_t place_before_padding(const std::string& mode, int64_t i, int64_t extent, int64_t before, int64_t after);
Sources summed_up_to(const ElementQuery& q);
Sources folded(const ElementQuery& q);
Sources of_windows_over(const ElementQuery& q);
Sources of_takers(const ElementQuery& q);
Sources of_element_takers(const ElementQuery& q);
Sources of_part_takers(const ElementQuery& q);
// The element of input 0 and those of input 2 that integers put there (input 1); with reduction "none" the last of all.
Sources scattered_elements(const ElementQuery& q);
Sources scattered_parts(const ElementQuery& q);
Sources of_padded_places(const ElementQuery& q);
Sources of_map_row(const ElementQuery& q);
Sources of_others(const ElementQuery& q);
// Of each row of input 0, which the output has no axes of, all; of this input, what is of the channel (axis 1, or the
// only axis).
Sources of_whole_row(const ElementQuery& q);
SourceRange of_whole_channel(int input);

// The pairs that an inner product multiplies, of inputs 0 and 1, one behind the other, and what it adds to their sum:
// sources_products.cpp.
Sources of_matrices(const ElementQuery& q);
Sources of_convolution(const ElementQuery& q);
Sources of_convolution_grad_src(const ElementQuery& q);
Sources of_convolution_grad_weights(const ElementQuery& q);
Sources of_transposed_convolution(const ElementQuery& q);

}  // namespace isobit::graph::ops
