// A server who says something false of one operator's output, and computes on with it as if it were right.
#pragma once

#include <cstdint>

#include "isobit/runtime/executor.h"

namespace isobit::adversary {

// The first element of output 0 of this node is another one: by half its size or so, where it is a float.
class FalseValue final : public runtime::Stage {
 public:
  explicit FalseValue(uint64_t node) : node_(node) {}
  Status apply(size_t index, runtime::KernelCall& call) override;
  Status apply_again(size_t index, runtime::KernelCall& call) override { return apply(index, call); }
  // Whether there was such a node, with an element; views make none.
  bool applied() const { return applied_; }

 private:
  const uint64_t node_;
  bool applied_ = false;
};

}  // namespace isobit::adversary
