#include "isobit/graph/op.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph {

int64_t InferContext::dim(int i, int axis) const {
  const auto& d = dims(i);
  return d[static_cast<size_t>(axis < 0 ? axis + static_cast<int>(d.size()) : axis)];
}

InferContext::InferContext(const Graph& graph, const std::vector<ValueId>& inputs, const Attributes& attributes,
                           const std::vector<std::string>& outputs)
    : graph_(graph), inputs_(inputs), attributes_(attributes), names_(outputs), outputs_(outputs.size()) {
  for (const ValueId id : inputs) values_.push_back(id == kNoValue ? nullptr : &graph.value(id));
}

const Tensor* InferContext::constant_if_known(int i) const {
  return has_input(i) ? graph_.initializer(inputs_[static_cast<size_t>(i)]) : nullptr;
}

const Tensor* InferContext::constant(int i) const {
  const Tensor* found = constant_if_known(i);
  if (found == nullptr && has_input(i) && std::ranges::count(awaits_, i) == 0) awaits_.push_back(i);
  return found;
}

void InferContext::set_output(int i, DType dtype, std::vector<int64_t> dims) {
  if (i < output_count()) outputs_[static_cast<size_t>(i)] = {dtype, std::move(dims)};
}

namespace {

std::string dims_text(const std::vector<int64_t>& dims) { return Shape(dims).text(); }

}  // namespace

Status InferContext::expect_rank(int i, int wanted) const {
  if (rank(i) == wanted) return {};
  return unreadable(
      text_of("input ", i, " ('", input(i).name, "') has shape ", dims_text(dims(i)), ", expected rank ", wanted));
}

Status InferContext::expect_float(int i) const {
  const DType dtype = input(i).dtype;
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return {};
  return unreadable(
      text_of("input ", i, " ('", input(i).name, "') is ", name_of(dtype), ", expected float32 or float64"));
}

Status InferContext::expect_integer(int i) const {
  const DType dtype = input(i).dtype;
  if (dtype == DType::kInt64 || dtype == DType::kInt32) return {};
  return unreadable(text_of("input ", i, " ('", input(i).name, "') is ", name_of(dtype), ", expected int64 or int32"));
}

Status InferContext::expect_type(int i, DType dtype) const {
  if (input(i).dtype == dtype) return {};
  return unreadable(text_of("input ", i, " ('", input(i).name, "') has type ", name_of(input(i).dtype), ", expected ",
                            name_of(dtype)));
}

Status InferContext::other_type(int i, std::initializer_list<DType> wanted) const {
  std::string names;
  for (DType dtype : wanted) names += text_of(names.empty() ? "" : ", ", name_of(dtype));
  return unreadable(text_of("input ", i, " ('", input(i).name, "') is ", name_of(input(i).dtype), ", expected ",
                            wanted.size() == 1 ? "" : "one of ", names));
}

Status InferContext::expect_like(int i, int j) const { return expect_like(i, j, dims(j)); }

Status InferContext::expect_like(int i, int j, const std::vector<int64_t>& wanted) const {
  ISOBIT_RETURN_IF_ERROR(expect_type(i, input(j).dtype));
  return expect_dims(i, wanted);
}

Status InferContext::expect_dims(int i, const std::vector<int64_t>& wanted) const {
  bool same = dims(i).size() == wanted.size();
  for (size_t d = 0; same && d < wanted.size(); ++d) {
    same = dims(i)[d] == wanted[d] || dims(i)[d] < 0 || wanted[d] < 0;
  }
  if (same) return {};
  return unreadable(text_of("input ", i, " ('", input(i).name, "') has shape ", dims_text(dims(i)), ", expected ",
                            dims_text(wanted)));
}

Status InferContext::expect_attributes(
    std::initializer_list<std::pair<const char*, size_t>> name_and_variant_index) const {
  for (const auto& [name, attribute] : attributes_.items()) {
    const auto known = std::find_if(name_and_variant_index.begin(), name_and_variant_index.end(),
                                    [&](const auto& k) { return name == k.first; });
    if (known == name_and_variant_index.end()) return unreadable(text_of("attribute '", name, "' is not known"));
    if (attribute.index() != known->second) return unreadable(text_of("attribute '", name, "' has the wrong type"));
  }
  return {};
}

Expected<std::vector<int64_t>> broadcast_dims(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0) {
      return unreadable(text_of("shapes ", dims_text(a), " and ", dims_text(b), " do not broadcast"));
    }
    // Unknown against a known extent above 1 must turn out to be that extent or 1: the known one is the result.
    out[rank - 1 - i] = x == 1 ? y : y == 1 ? x : std::max(x, y);
  }
  return out;
}

Expected<int64_t> normalized_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return unreadable(text_of("axis ", axis, " is outside a tensor of rank ", rank));
  return axis < 0 ? axis + rank : axis;
}

Status check_axes(int64_t rank) {
  if (rank <= kMostAxes) return {};
  return unreadable(text_of("a tensor of ", rank, " axes, expected at most ", kMostAxes));
}

void ops::add_ordered(std::vector<OpDef>& defs, OpDef def) {
  def.platform_independent = true;
  def.any_real_type = true;
  defs.push_back(std::move(def));
}

namespace {

const std::map<std::string, OpDef>& table() {
  static const std::map<std::string, OpDef> kTable = [] {
    std::vector<OpDef> defs;
    ops::add_elementwise(defs);
    ops::add_activation(defs);
    ops::add_logic(defs);
    ops::add_quantize(defs);
    ops::add_linear(defs);
    ops::add_pool(defs);
    ops::add_columns(defs);
    ops::add_resize(defs);
    ops::add_sampling(defs);
    ops::add_detection(defs);
    ops::add_quantized_products(defs);
    ops::add_norm(defs);
    ops::add_softmax(defs);
    ops::add_reduce(defs);
    ops::add_order(defs);
    ops::add_movement(defs);
    ops::add_slicing(defs);
    ops::add_indexing(defs);
    ops::add_extent(defs);
    ops::add_optimizer(defs);
    ops::add_control(defs);
    ops::add_composite(defs);
    std::map<std::string, OpDef> by_name;
    for (OpDef& def : defs) ISOBIT_CHECK(by_name.emplace(def.name, def).second);
    return by_name;
  }();
  return kTable;
}

}  // namespace

bool InputSet::contains(size_t input) const {
  return all || std::find(some.begin(), some.end(), static_cast<int>(input)) != some.end();
}

const OutputDef& OpDef::output(size_t o) const {
  static const OutputDef kNothingSaid;
  if (o >= outputs.size() && more_outputs_like_last && !outputs.empty()) return outputs.back();
  return o < outputs.size() ? outputs[o] : kNothingSaid;
}

bool OpDef::only_moves_values() const {
  const size_t described = more_outputs_like_last ? outputs.size() : static_cast<size_t>(max_outputs);
  for (size_t o = 0; o < described; ++o) {
    if (output(o).moved_from.empty() && output(o).rule != ElementRule::kPlace) return false;
  }
  return true;
}

bool OpDef::follows_from_shape() const {
  for (size_t o = 0; o < static_cast<size_t>(max_outputs); ++o) {
    if (!output(o).follows_from.empty()) return false;
  }
  return true;
}

const OpDef* find_op(const std::string& name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

const OpDef& op_of(const Node& node) {
  const OpDef* def = find_op(node.op);
  ISOBIT_CHECK(def != nullptr);
  return *def;
}

std::vector<Statistic> statistics_of(const Graph& graph, const Node& node) {
  const OpDef& def = op_of(node);
  return def.statistics ? def.statistics(graph, node) : std::vector<Statistic>{};
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const auto& [name, def] : table()) names.push_back(name);
  return names;
}

std::string short_name(const std::string& op) {
  const std::string prefix = "isobit.";
  return op.starts_with(prefix) ? op.substr(prefix.size()) : op;
}

}  // namespace isobit::graph
