// Executor::run without tensors: the same storage taken, shared and freed in the same order.
#include <algorithm>
#include <memory>

#include "isobit/base/text.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

using graph::kNoValue;
using graph::Node;
using graph::ValueId;

namespace {

Expected<uint64_t> bytes_of(const graph::Value& value) {
  uint64_t bytes = size_of(value.dtype);
  for (const int64_t dim : value.dims) {
    if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) {
      return unavailable(text_of("value '", value.name, "' of shape ", Shape(value.dims).text(),
                                 " needs more memory than can be counted"));
    }
  }
  return bytes;
}

// Which storage every value has, and what is held. A storage is known by its place in bytes_.
class Plan {
 public:
  explicit Plan(int64_t values) : storage_(static_cast<size_t>(values), kNone) {}

  // New storage for `value`. Counts it unless it is the graph's own (an initializer), which is never overwritten.
  Status take(ValueId value, uint64_t bytes, bool own) {
    storage_[static_cast<size_t>(value)] = bytes_.size();
    bytes_.push_back(own ? bytes : 0);
    holders_.push_back(own ? 1 : 2);
    if (own && __builtin_add_overflow(held_, bytes, &held_))
      return unavailable("needs more memory than can be counted");
    peak_ = std::max(peak_, held_);
    return {};
  }
  void share(ValueId value, ValueId with) {
    storage_[static_cast<size_t>(value)] = place(with);
    ++holders_[place(with)];
  }
  void drop(ValueId value) {
    size_t& at = storage_[static_cast<size_t>(value)];
    if (at == kNone) return;
    if (--holders_[at] == 0) held_ -= bytes_[at];
    at = kNone;
  }
  bool sole_owner(ValueId value) const { return holders_[place(value)] == 1; }
  uint64_t peak() const { return peak_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  size_t place(ValueId value) const { return storage_[static_cast<size_t>(value)]; }

  std::vector<size_t> storage_;  // by value
  std::vector<uint64_t> bytes_;
  std::vector<int64_t> holders_;
  uint64_t held_ = 0, peak_ = 0;
};

}  // namespace

Expected<uint64_t> Executor::planned_peak_bytes() const {
  Plan plan(graph_.value_count());
  for (const ValueId id : graph_.inputs()) {
    ISOBIT_TRY(const uint64_t bytes, bytes_of(graph_.value(id)));
    ISOBIT_RETURN_IF_ERROR(plan.take(id, bytes, true));
  }
  for (const graph::Initializer& i : graph_.initializers()) ISOBIT_RETURN_IF_ERROR(plan.take(i.value, 0, false));
  for (size_t n = 0; n < graph_.nodes().size(); ++n) {
    const Node& node = graph_.nodes()[n];
    const Kernel& kernel = kernel_table().at(node.op);
    const auto dies_here = [&](ValueId id) { return last_use_[static_cast<size_t>(id)] == static_cast<int64_t>(n); };
    // Decided for all outputs before any of them holds a storage, as the executor allocates before it puts.
    std::vector<ValueId> over(node.outputs.size(), kNoValue);
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] == kNoValue) continue;
      const int input = reusable_input(kernel, node, static_cast<int>(o), dies_here);
      if (input < 0) continue;
      const ValueId operand = node.inputs[static_cast<size_t>(input)];
      const graph::Value &from = graph_.value(operand), &to = graph_.value(node.outputs[o]);
      ISOBIT_TRY(const uint64_t have, bytes_of(from));
      ISOBIT_TRY(const uint64_t need, bytes_of(to));
      if (from.dtype == to.dtype && have == need && (kernel.is_view || plan.sole_owner(operand))) over[o] = operand;
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const ValueId id = node.outputs[o];
      if (id == kNoValue) continue;
      if (over[o] != kNoValue) {
        plan.share(id, over[o]);
        continue;
      }
      ISOBIT_TRY(const uint64_t bytes, bytes_of(graph_.value(id)));
      ISOBIT_RETURN_IF_ERROR(plan.take(id, bytes, true));
    }
    for (const ValueId i : node.inputs) {
      if (i != kNoValue && dies_here(i)) plan.drop(i);
    }
    for (const ValueId o : node.outputs) {
      if (o != kNoValue && last_use_[static_cast<size_t>(o)] < 0) plan.drop(o);
    }
  }
  return plan.peak();
}

}  // namespace isobit::runtime
