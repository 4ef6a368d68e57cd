// What tests of imports that a training asks for share.
#pragma once

#include <string>
#include <vector>

#include "isobit/onnx/model_for_test.h"

namespace isobit::onnx {

using Names = std::vector<std::string>;

inline Names names_of(const graph::Graph& g, const std::vector<graph::ValueId>& ids) {
  Names names;
  for (const graph::ValueId id : ids) names.push_back(id == graph::kNoValue ? "none" : g.value(id).name);
  return names;
}

inline ImportOptions opened(Form form = Form::kAsWritten) {
  ImportOptions options;
  options.opens_parameters = true;
  options.form.form = form;
  return options;
}

}  // namespace isobit::onnx
