// Checks of parameters that are one number.
#pragma once

#include <optional>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::ops {

// For expect_attributes: a parameter of one number may stand in a list.
inline size_t kind_of_one(const InferContext& c, const char* name) {
  const auto found = c.attributes().items().find(name);
  return found != c.attributes().items().end() && found->second.index() == kInts ? kInts : kInt;
}

// A parameter of exactly one number that the node must have; nullopt: it is not known yet.
inline Expected<std::optional<int64_t>> one_number(const InferContext& c, const char* name, int input) {
  ISOBIT_TRY(const auto numbers, needed_parameter(c, name, input));
  if (!numbers) return std::optional<int64_t>();
  if (numbers->size() != 1) return unreadable(text_of("'", name, "' needs 1 number, found ", numbers->size()));
  return std::optional<int64_t>(numbers->front());
}

}  // namespace isobit::graph::ops
