// Attributes of a node of the file.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

template <class T>
const T* as(const AttributeDef& attribute) {
  return std::get_if<T>(&attribute.value);
}

bool has_value(const AttributeDef& attribute, double value) {
  if (const auto* i = as<int64_t>(attribute)) return static_cast<double>(*i) == value;
  if (const auto* f = as<float>(attribute)) return static_cast<double>(*f) == value;
  return false;
}

bool is_left_out(const Row& row, const AttributeDef& attribute) {
  return std::any_of(row.left_out.begin(), row.left_out.end(), [&](const auto& out) {
    return out.first == attribute.name && (!out.second || has_value(attribute, *out.second));
  });
}

}  // namespace

const AttributeDef* Conversion::attribute(std::string_view name) const {
  const auto found = std::ranges::find(attributes_, name, &AttributeDef::name);
  if (found == attributes_.end()) return nullptr;
  asked_.insert(&*found);
  return &*found;
}

Status Conversion::check_all_asked_for() const {
  for (const AttributeDef& a : attributes_) {
    if (!all_asked_ && !asked_.contains(&a) && !is_left_out(row_, a)) {
      return error(text_of("attribute '", a.name, "' is not known, or given twice"));
    }
  }
  for (size_t i = inputs_asked_; i < inputs_.size(); ++i) {
    if (inputs_[i] != nullptr) return error(text_of("input ", i, " is one too many"));
  }
  return {};
}

Expected<int64_t> Conversion::integer(std::string_view name, int64_t fallback) const {
  const AttributeDef* a = attribute(name);
  if (a == nullptr) return fallback;
  if (const auto* value = as<int64_t>(*a)) return *value;
  return error(text_of("attribute '", name, "' is no integer"));
}

Expected<double> Conversion::real(std::string_view name, double fallback) const {
  const AttributeDef* a = attribute(name);
  if (a == nullptr) return fallback;
  if (const auto* value = as<float>(*a)) return static_cast<double>(*value);
  return error(text_of("attribute '", name, "' is no float"));
}

Expected<std::string> Conversion::text(std::string_view name, std::string fallback) const {
  const AttributeDef* a = attribute(name);
  if (a == nullptr) return fallback;
  if (const auto* value = as<std::string>(*a)) return *value;
  return error(text_of("attribute '", name, "' is no text"));
}

Expected<std::vector<int64_t>> Conversion::integer_list(std::string_view name) const {
  const AttributeDef* a = attribute(name);
  if (a == nullptr) return std::vector<int64_t>{};
  if (const auto* value = as<std::vector<int64_t>>(*a)) return *value;
  return error(text_of("attribute '", name, "' is no list of integers"));
}

Expected<std::vector<double>> Conversion::real_list(std::string_view name) const {
  const AttributeDef* a = attribute(name);
  if (a == nullptr) return std::vector<double>{};
  if (const auto* value = as<std::vector<float>>(*a)) return std::vector<double>(value->begin(), value->end());
  return error(text_of("attribute '", name, "' is no list of floats"));
}

Expected<std::vector<std::string>> Conversion::text_list(std::string_view name) const {
  const AttributeDef* a = attribute(name);
  if (a == nullptr) return std::vector<std::string>{};
  if (const auto* value = as<std::vector<std::string>>(*a)) return *value;
  return error(text_of("attribute '", name, "' is no list of texts"));
}

Expected<Tensor> Conversion::tensor(std::string_view name) const {
  const AttributeDef* a = attribute(name);
  if (a == nullptr) return Tensor();
  const auto* value = as<TensorDef>(*a);
  if (value != nullptr && value->tensor.defined()) return value->tensor;
  return error(text_of("attribute '", name, "' is no tensor of a type that isobit has"));
}

Expected<DType> Conversion::type(std::string_view name, DType fallback) const {
  ISOBIT_TRY(const int64_t element, integer(name, element_of_dtype(fallback)));
  const auto dtype = dtype_of_element(element);
  if (!dtype)
    return error(text_of("attribute '", name, "' asks for ", element_name(element), ", which isobit does not have"));
  return *dtype;
}

Expected<graph::Attributes> Conversion::same_attributes() const {
  graph::Attributes out;
  for (const AttributeDef& a : attributes()) {
    if (is_left_out(row_, a)) continue;
    if (out.has(a.name)) return error(text_of("attribute '", a.name, "' is given twice"));
    const auto& types = row_.type_attributes;
    if (std::find(types.begin(), types.end(), a.name) != types.end()) {
      ISOBIT_TRY(const DType dtype, type(a.name, DType::kFloat32));
      out.set(a.name, static_cast<int64_t>(dtype));
    } else if (const auto* i = as<int64_t>(a)) {
      out.set(a.name, *i);
    } else if (const auto* f = as<float>(a)) {
      out.set(a.name, static_cast<double>(*f));
    } else if (const auto* s = as<std::string>(a)) {
      out.set(a.name, *s);
    } else if (const auto* ints = as<std::vector<int64_t>>(a)) {
      out.set(a.name, *ints);
    } else if (const auto* floats = as<std::vector<float>>(a)) {
      out.set(a.name, std::vector<double>(floats->begin(), floats->end()));
    } else if (const auto* tensor = as<TensorDef>(a)) {
      if (!tensor->tensor.defined()) {
        return error(
            text_of("attribute '", a.name, "' holds ", element_name(tensor->element), ", which isobit does not have"));
      }
      out.set(a.name, tensor->tensor);
    } else {
      const auto* other = as<OtherAttribute>(a);
      const bool is_graph = as<std::shared_ptr<const GraphDef>>(a) != nullptr;
      const std::string what = other != nullptr ? other->what : is_graph ? "a graph" : "a list of texts";
      return error(text_of("attribute '", a.name, "' is ", what, ", which isobit does not take here"));
    }
  }
  return out;
}

}  // namespace isobit::onnx
