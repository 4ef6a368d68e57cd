#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

TensorDef constant_of(std::string name, Tensor tensor) {
  return {std::move(name), element_of_dtype(tensor.dtype()), tensor.shape().dims(), std::move(tensor)};
}

Expected<float> narrowed(double x) {
  const auto narrow = static_cast<float>(x);
  if (std::isfinite(x) && !std::isfinite(narrow)) return unreadable(text_of(x, " is beyond what float32 holds"));
  return narrow;
}

Expected<std::vector<float>> narrowed(const std::vector<double>& xs) {
  std::vector<float> narrow;
  for (const double x : xs) {
    ISOBIT_TRY(const float f, narrowed(x));
    narrow.push_back(f);
  }
  return narrow;
}

// Errors: a number that ONNX's type does not hold; a graph, which only operators with writers of their own have.
Expected<AttributeValue> onnx_value(const graph::Attribute& a) {
  if (const auto* i = std::get_if<int64_t>(&a)) return AttributeValue(*i);
  if (const auto* s = std::get_if<std::string>(&a)) return AttributeValue(*s);
  if (const auto* is = std::get_if<std::vector<int64_t>>(&a)) return AttributeValue(*is);
  if (const auto* t = std::get_if<Tensor>(&a)) return AttributeValue(constant_of("", *t));
  if (const auto* x = std::get_if<double>(&a)) {
    ISOBIT_TRY(const float f, narrowed(*x));
    return AttributeValue(f);
  }
  if (const auto* xs = std::get_if<std::vector<double>>(&a)) {
    ISOBIT_TRY(std::vector<float> fs, narrowed(*xs));
    return AttributeValue(std::move(fs));
  }
  return unreadable("a graph, which ONNX does not have here");
}

}  // namespace

AttributeDef attribute(std::string name, AttributeValue value) { return {std::move(name), "", std::move(value)}; }

Names without_trailing(Names names) {
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

tl::unexpected<Error> Writing::error(std::string_view reason) const {
  return unreadable(text_of("node '", node_.name, "' (", node_.op, "): ", reason));
}

const graph::Value& Writing::in(int i) const {
  ISOBIT_CHECK(has(i));
  return scope_.graph.value(node_.inputs[static_cast<size_t>(i)]);
}

const graph::Value& Writing::out(int o) const { return scope_.graph.value(node_.outputs[static_cast<size_t>(o)]); }

bool Writing::wants(int o) const {
  const bool is_there = o < output_count() && node_.outputs[static_cast<size_t>(o)] != graph::kNoValue;
  return is_there && scope_.needed[static_cast<size_t>(node_.outputs[static_cast<size_t>(o)])];
}

std::string Writing::name_in(int i) const {
  return has(i) ? scope_.names[static_cast<size_t>(node_.inputs[static_cast<size_t>(i)])] : "";
}

Names Writing::names_in() const {
  Names names;
  for (int i = 0; i < input_count(); ++i) names.push_back(name_in(i));
  return names;
}

std::string Writing::name_out(int o) const {
  const graph::ValueId id = node_.outputs[static_cast<size_t>(o)];
  return id == graph::kNoValue ? "" : scope_.names[static_cast<size_t>(id)];
}

Names Writing::names_out() const {
  const graph::OpDef& def = graph::op_of(node_);
  const int least = writer_.least_outputs < 0 ? def.min_outputs : writer_.least_outputs;
  Names names;
  for (int o = 0; o < output_count(); ++o) {
    // As many outputs as there are say something where their number is the node's to choose.
    const bool must = o < least || def.more_outputs_like_last;
    std::string name = must || wants(o) ? name_out(o) : "";
    if (must && name.empty()) name = exporter_.take_name(text_of(node_.name, "/output", o));
    names.push_back(std::move(name));
  }
  return without_trailing(std::move(names));
}

void Writing::needs(int64_t opset) { exporter_.needs(opset, node_); }

std::string Writing::inner_name(std::string_view what) {
  for (int o = 0; o < output_count(); ++o) {
    if (const std::string name = name_out(o); !name.empty()) return exporter_.take_name(text_of(name, "/", what));
  }
  return exporter_.take_name(text_of(node_.name, "/", what));
}

void Writing::add_named(const std::string& name, const char* op, Names inputs, AttributeDefs attributes) {
  scope_.def.nodes.push_back({exporter_.take_node_name(name), op, "", "", without_trailing(std::move(inputs)),
                              Names{name}, std::move(attributes)});
}

std::string Writing::add(const char* op, Names inputs, AttributeDefs attributes, std::string_view what) {
  std::string name = inner_name(what);
  add_named(name, op, std::move(inputs), std::move(attributes));
  return name;
}

void Writing::add_last(const std::string& op, Names inputs, AttributeDefs attributes, Names outputs,
                       const std::string& domain) {
  scope_.def.nodes.push_back({exporter_.take_node_name(node_.name), op, domain, "", without_trailing(std::move(inputs)),
                              std::move(outputs), std::move(attributes)});
}

void Writing::constant_named(const std::string& name, Tensor tensor) {
  scope_.def.initializers.push_back(constant_of(name, std::move(tensor)));
}

std::string Writing::constant(Tensor tensor, std::string_view what) {
  std::string name = inner_name(what);
  constant_named(name, std::move(tensor));
  return name;
}

std::string Writing::integers(const std::vector<int64_t>& values, std::string_view what) {
  return constant(Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values), what);
}

std::string Writing::shared(const std::string& name, const std::function<void(const std::string&)>& make) {
  std::string& known = scope_.shared[name];
  if (!known.empty()) return known;
  known = exporter_.take_name(name);
  make(known);
  return known;
}

std::string Writing::number_in(int i, std::string_view what) {
  if (!has(i) || !in(i).has_rank() || in(i).dims.size() != 1) return name_in(i);
  return add("Squeeze", {name_in(i), integers({0}, text_of(what, "_axes"))}, {}, what);
}

Expected<std::string> Writing::parameter(const Parameter& p, const graph::Attribute& a) {
  if (p.form == Parameter::Form::kReals) {
    const auto* xs = std::get_if<std::vector<double>>(&a);
    ISOBIT_CHECK(xs != nullptr);
    ISOBIT_TRY(const std::vector<float> fs, narrowed(*xs));
    return constant(Tensor::of<float>(Shape{static_cast<int64_t>(fs.size())}, fs), p.name);
  }
  std::vector<int64_t> numbers;
  if (const auto* one = std::get_if<int64_t>(&a)) numbers = {*one};
  if (const auto* list = std::get_if<std::vector<int64_t>>(&a)) numbers = *list;
  const bool is_one = p.form == Parameter::Form::kInteger && numbers.size() == 1 && !writer_.lists_one;
  return is_one ? constant(Tensor::scalar(numbers[0]), p.name) : integers(numbers, p.name);
}

Expected<AttributeDefs> Writing::same_attributes(Names& inputs, std::initializer_list<std::string_view> without) {
  const auto form = find_row("", node_.op, kNewestOpset);
  ISOBIT_CHECK(form.has_value());
  AttributeDefs written;
  for (const auto& [name, value] : node_.attributes.items()) {
    if (std::ranges::find(without, name) != without.end()) continue;
    const auto& parameters = (*form)->parameters;
    const auto p = std::ranges::find_if(parameters, [&](const Parameter& q) { return name == q.name; });
    if (p != parameters.end()) {
      inputs.resize(std::max(inputs.size(), static_cast<size_t>(p->input) + 1));
      ISOBIT_TRY(inputs[static_cast<size_t>(p->input)], parameter(*p, value));
      continue;
    }
    const auto* real = std::get_if<double>(&value);
    const bool is_default = real != nullptr && std::ranges::any_of(writer_.defaults, [&](const Writer::Default& d) {
                              return d.attribute == name && d.value == *real;
                            });
    if (is_default) continue;
    const auto& types = (*form)->type_attributes;
    if (std::ranges::find(types, name) != types.end()) {
      const auto dtype = dtype_of_number(static_cast<uint64_t>(node_.attributes.integer(name, 0)));
      ISOBIT_CHECK(dtype.has_value());
      written.push_back(attribute(name, element_of_dtype(*dtype)));
      continue;
    }
    auto converted = onnx_value(value);
    if (!converted) return error(text_of("attribute '", name, "': ", converted.error().message));
    written.push_back(attribute(name, *std::move(converted)));
  }
  return written;
}

Status as_it_is(Writing& w) {
  Names inputs = w.names_in();
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs));
  w.add_last(w.node().op, std::move(inputs), std::move(attributes));
  return {};
}

}  // namespace isobit::onnx
