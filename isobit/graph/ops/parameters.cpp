#include "isobit/graph/ops/parameters.h"

#include "isobit/base/text.h"

namespace isobit::graph::ops {
namespace {

// A node has no more outputs than this, and a tensor far fewer axes.
constexpr int64_t kMostNumbers = 1 << 16;

Status check_type(const InferContext& c, const char* name, int input) {
  ISOBIT_RETURN_IF_ERROR(c.expect_integer(input));
  if (c.input(input).has_rank() && c.rank(input) > 1) {
    return unreadable(text_of("input ", input, " ('", c.input(input).name, "', ", name, ") has shape ",
                              Shape(c.dims(input)).text(), ", expected rank 0 or 1"));
  }
  return {};
}

Status check_count(const char* name, int64_t count) {
  if (count <= kMostNumbers) return {};
  return unreadable(text_of("'", name, "' has ", count, " numbers, expected at most ", kMostNumbers));
}

}  // namespace

bool has_parameter(const InferContext& c, const char* name, int input) {
  return c.attributes().has(name) || c.has_input(input);
}

Expected<std::optional<std::vector<int64_t>>> shape_parameter(const InferContext& c, const char* name, int input) {
  const auto attribute = c.attributes().items().find(name);
  const bool has_attribute = attribute != c.attributes().items().end();
  if (has_attribute && c.has_input(input)) {
    return unreadable(text_of("'", name, "' is both an attribute and input ", input));
  }
  if (has_attribute && !std::holds_alternative<int64_t>(attribute->second) &&
      !std::holds_alternative<std::vector<int64_t>>(attribute->second)) {
    return unreadable(text_of("attribute '", name, "' has the wrong type"));
  }
  const Tensor* constant = nullptr;
  if (c.has_input(input)) {
    ISOBIT_RETURN_IF_ERROR(check_type(c, name, input));
    constant = c.constant(input);
    if (constant != nullptr) ISOBIT_RETURN_IF_ERROR(check_count(name, constant->elements()));
  }
  auto numbers = parameter_numbers(c.attributes(), name, constant);
  if (numbers) ISOBIT_RETURN_IF_ERROR(check_count(name, static_cast<int64_t>(numbers->size())));
  return numbers;
}

std::optional<std::vector<int64_t>> parameter_numbers(const Attributes& attributes, const char* name,
                                                      const Tensor* constant) {
  const auto attribute = attributes.items().find(name);
  if (attribute != attributes.items().end()) {
    if (const auto* one = std::get_if<int64_t>(&attribute->second)) return std::vector<int64_t>{*one};
    return std::get<std::vector<int64_t>>(attribute->second);
  }
  if (constant == nullptr) return std::nullopt;
  if (constant->dtype() == DType::kInt32) {
    const auto numbers = constant->span<int32_t>();
    return std::vector<int64_t>(numbers.begin(), numbers.end());
  }
  const auto numbers = constant->span<int64_t>();
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

}  // namespace isobit::graph::ops
