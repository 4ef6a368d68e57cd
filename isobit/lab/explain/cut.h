// A part of a model as a model of its own: what makes some values out of others.
#pragma once

#include <map>

#include "isobit/onnx/model.h"

namespace isobit::lab::explain {

struct Part {
  onnx::Model model;
  std::vector<std::string> values;  // of `from` that are inputs of it
  std::vector<std::string> given;   // inputs of the whole model that are inputs of it
  std::vector<std::string> nodes;   // labels, in order
};

constexpr size_t kMaxPartNodes = 256;

// The nodes that `targets` follow from, but for those behind values of `from`, which become inputs of these types.
// A target that is among `from` is made all the same. kUnreadable, naming the value or node: nobody makes it, or a node
// on the way runs graphs of its own, whose inputs are not listed with it; more nodes than `most`.
// REQUIRES a model that was loaded, with its weights.
Expected<Part> cut(const onnx::Model& model, const std::vector<std::string>& targets,
                   const std::map<std::string, onnx::TypeDef>& from, size_t most = kMaxPartNodes);

}  // namespace isobit::lab::explain
