// Checks of nodes that several families share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::ops {

// The element type of input i is one of these.
template <class... T>
Status expect_one_of(const InferContext& c, int i, Types<T...> types) {
  if (types.contains(c.input(i).dtype)) return {};
  const std::vector<std::string> names = {name_of(dtype_of<T>())...};
  return unreadable(
      text_of("input ", i, " ('", c.input(i).name, "') is ", name_of(c.input(i).dtype), ", expected ", join_or(names)));
}

// For expect_attributes: a parameter of one number may stand in a list.
inline size_t kind_of_one(const InferContext& c, const char* name) {
  const auto found = c.attributes().items().find(name);
  return found != c.attributes().items().end() && found->second.index() == kInts ? kInts : kInt;
}

// A parameter (parameters.h) of exactly one number that the node must have; nullopt: it is not known yet.
inline Expected<std::optional<int64_t>> one_number(const InferContext& c, const char* name, int input) {
  if (!has_parameter(c, name, input)) return unreadable(text_of("'", name, "' is missing"));
  ISOBIT_TRY(const auto numbers, shape_parameter(c, name, input));
  if (!numbers) return std::optional<int64_t>();
  if (numbers->size() != 1) return unreadable(text_of("'", name, "' needs 1 number, found ", numbers->size()));
  return std::optional<int64_t>(numbers->front());
}

}  // namespace isobit::graph::ops
