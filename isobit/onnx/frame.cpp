#include "isobit/base/printable.h"
#include "isobit/onnx/frame_internal.h"

namespace isobit::onnx {

// Names go into reports, checkpoints and commitments: nothing in them that cannot be seen, and no unending ones.
std::string tidy_name(const std::string& name) {
  constexpr size_t kMost = 1000;
  const std::string tidy = printable(std::string_view(name).substr(0, kMost + 4));  // with a last whole character
  // A character that is cut through is spelled out.
  return tidy.size() <= kMost ? tidy : printable(std::string_view(tidy).substr(0, kMost));
}

bool Entry::is_parameter() const {
  if (opened) return true;
  return from_file && is_constant() && is_real(constant.dtype());
}

Operand origin_of(Operand operand) {
  while (Operand before = operand->copy_of.lock()) operand = std::move(before);
  return operand;
}

Operand Frame::constant(const std::string& name, Tensor tensor, bool from_file) {
  auto entry = std::make_shared<Entry>();
  entry->frame = this;
  entry->name = name;
  entry->constant = std::move(tensor);
  entry->from_file = from_file;
  return entry;
}

Operand Frame::opened(const std::string& name, const TensorDef& initializer) {
  auto entry = std::make_shared<Entry>();
  entry->frame = this;
  entry->name = name;
  entry->constant = initializer.dropped
                        ? Tensor::without_storage(*dtype_of_element(initializer.element), Shape(initializer.dims))
                        : initializer.tensor;
  entry->from_file = entry->opened = true;
  return entry;
}

Operand Frame::input(const std::string& name, DType dtype, std::vector<int64_t> dims) {
  return value(graph_.add_input(tidy_name(name), dtype, std::move(dims)));
}

Operand Frame::value(graph::ValueId id) {
  auto entry = std::make_shared<Entry>();
  entry->frame = this;
  entry->name = graph_.value(id).name;
  entry->id = id;
  return entry;
}

Operand Frame::unusable(const std::string& name, std::string problem) {
  auto entry = std::make_shared<Entry>();
  entry->frame = this;
  entry->name = name;
  entry->problem = std::move(problem);
  return entry;
}

Operand Frame::sequence(const std::string& name, std::vector<Operand> items) {
  Operand entry = unusable(name, "is a sequence, where a tensor is expected");
  entry->is_sequence = true;
  entry->items = std::move(items);
  return entry;
}

Operand Frame::local(const Operand& operand) {
  if (operand == nullptr || operand->frame == this || !operand->problem.empty()) return operand;
  const bool copied = operand->is_constant() && !operand->is_parameter();
  const Operand outside = copied ? operand : outer_->local(operand);
  if (const auto found = locals_.find(outside.get()); found != locals_.end()) return found->second.second;
  Operand here;
  if (copied) {
    here = constant(operand->name, operand->constant, operand->from_file);
  } else {
    here = input(outside->name, outer_->dtype(outside), outer_->dims(outside));
    here->copy_of = outside;
    captured_.push_back(outside);
  }
  locals_[outside.get()] = {outside, here};
  return here;
}

graph::ValueId Frame::id_of(const Operand& operand) {
  if (operand == nullptr) return graph::kNoValue;
  if (operand->id == graph::kNoValue && operand->opened) operand->id = open(*operand);
  if (operand->id == graph::kNoValue) {
    operand->id = graph_.add_initializer(tidy_name(operand->name), operand->constant);
    if (operand->is_parameter()) {
      parameters_.push_back(operand->id);
      constants_.push_back(graph_.value(operand->id).name);
    }
  }
  return operand->id;
}

// What is trained is float32: halves are rounded where they are used.
graph::ValueId Frame::open(Entry& entry) {
  const DType type = entry.constant.dtype();
  const bool half = HalfTypes::contains(type);
  const graph::ValueId id =
      graph_.add_input(tidy_name(entry.name), half ? DType::kFloat32 : type, entry.constant.shape().dims());
  if (graph_.value(id).name != tidy_name(entry.name)) renamed_ = tidy_name(entry.name);
  parameters_.push_back(id);
  entry.fed = id;
  if (!half) return id;
  return graph_.emit("Cast", {id}, {{"to", static_cast<int64_t>(type)}}, graph_.value(id).name + "/rounded");
}

const graph::Value& Frame::value_of(const Operand& operand) { return graph_.value(id_of(operand)); }

DType Frame::dtype(const Operand& operand) const {
  const bool known = operand->is_constant() || operand->opened;
  return known ? operand->constant.dtype() : graph_.value(operand->id).dtype;
}

const std::vector<int64_t>& Frame::dims(const Operand& operand) const {
  const bool known = operand->is_constant() || operand->opened;
  return known ? operand->constant.shape().dims() : graph_.value(operand->id).dims;
}

Operand Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (const auto found = scope->names_.find(name); found != scope->names_.end()) {
      return frame_.local(found->second);
    }
  }
  return nullptr;
}

std::string Scope::shown(const std::string& name) const {
  const auto found = given.find(name);
  return found == given.end() ? prefix + name : found->second;
}

}  // namespace isobit::onnx
