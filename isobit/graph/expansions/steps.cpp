#include "isobit/graph/expansions/steps.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::graph::expansions {

Status Steps::expect(int least, int most, int most_outputs,
                     std::initializer_list<std::pair<const char*, size_t>> attributes) const {
  const int given = static_cast<int>(inputs_.size()), outputs = static_cast<int>(outputs_.size());
  if (given < least || given > most) {
    return unreadable(text_of("found ", given, " inputs, expected ", least, " to ", most));
  }
  for (int i = 0; i < given; ++i) {
    const ValueId id = inputs_[static_cast<size_t>(i)];
    if (id < kNoValue || id >= graph_.value_count() || (id == kNoValue && i < least)) {
      return unreadable(text_of("input ", i, " is missing"));
    }
  }
  if (outputs > most_outputs) {
    return unreadable(text_of("found ", outputs, " outputs, expected at most ", most_outputs));
  }
  if (!has_output(0)) return unreadable("output 0 is missing");
  return InferContext(graph_, inputs_, attributes_, outputs_).expect_attributes(attributes);
}

bool Steps::has(int i) const {
  return i < static_cast<int>(inputs_.size()) && inputs_[static_cast<size_t>(i)] != kNoValue;
}

Expected<int> Steps::rank_of(int i) const {
  if (!value_of(i).has_rank()) return unreadable(text_of("the rank of '", value_of(i).name, "' is not known"));
  return static_cast<int>(value_of(i).dims.size());
}

std::string Steps::output_name(int o) const {
  return o < static_cast<int>(outputs_.size()) ? outputs_[static_cast<size_t>(o)] : "";
}

Expected<ValueId> Steps::add(const std::string& op, Values inputs, Attributes attributes) {
  ISOBIT_TRY(const Values added,
             graph_.add_node(op, std::move(inputs), std::move(attributes), {inner_name(short_name(op))}));
  return added[0];
}

Expected<ValueId> Steps::add_output(int o, const std::string& op, Values inputs, Attributes attributes) {
  ISOBIT_TRY(const Values added, graph_.add_node(op, std::move(inputs), std::move(attributes), {output_name(o)}));
  return added[0];
}

Expected<Values> Steps::add_all(const std::string& op, Values inputs, Attributes attributes, int outputs,
                                bool is_output) {
  std::vector<std::string> names(static_cast<size_t>(outputs), inner_name(short_name(op)));
  if (is_output) names[0] = output_name(0);
  return graph_.add_node(op, std::move(inputs), std::move(attributes), names);
}

ValueId Steps::constant(ValueId like, double x) {
  const bool f32 = value(like).dtype == DType::kFloat32;
  return graph_.add_initializer(inner_name("constant"),
                                f32 ? Tensor::scalar(static_cast<float>(x)) : Tensor::scalar(x));
}

Expected<ValueId> Steps::converted(ValueId id, DType to) {
  if (value(id).dtype == to) return id;
  return add("Cast", {id}, {{"to", static_cast<int64_t>(to)}});
}

Expected<ValueId> Steps::reshaped_like(ValueId id, ValueId like, bool first_kept, bool is_output) {
  const auto reshape = [&](Values inputs, Attributes attributes) {
    return is_output ? add_output(0, "Reshape", std::move(inputs), std::move(attributes))
                     : add("Reshape", std::move(inputs), std::move(attributes));
  };
  std::vector<int64_t> dims = value(like).dims;
  const bool ranked = value(like).has_rank(), has_zero = std::count(dims.begin(), dims.end(), 0) > 0;
  if (ranked && value(like).is_static()) {
    return reshape({id},
                   has_zero ? Attributes{{"shape", dims}, {"allowzero", int64_t{1}}} : Attributes{{"shape", dims}});
  }
  // In the attribute 0 stands for a dimension that is there already, and one -1 is inferred.
  if (ranked && first_kept && dims[0] < 0) dims[0] = 0;
  const auto unknown = std::count_if(dims.begin(), dims.end(), [](int64_t d) { return d < 0; });
  if (ranked && !has_zero && unknown <= 1) return reshape({id}, {{"shape", dims}});
  ISOBIT_TRY(const ValueId shape, add("Shape", {like}));
  return reshape({id, shape}, {});
}

}  // namespace isobit::graph::expansions
