#include "isobit/cli/model_inputs.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/formats/npy.h"

namespace isobit::cli {
namespace {

Expected<std::map<std::string, int64_t>> read_dims(const ModelInputOptions& o) {
  std::map<std::string, int64_t> extents;
  for (const std::string& text : o.dims) {
    const size_t equals = text.find('=');
    const std::string number = equals == text.npos ? "" : text.substr(equals + 1);
    const bool digits = !number.empty() && number.size() <= 18 &&
                        std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || equals == 0) return usage_error(text_of("--dim: found '", text, "', expected NAME=NUMBER"));
    const auto [dim, fresh] = extents.emplace(text.substr(0, equals), std::stoll(number));
    if (!fresh) return usage_error(text_of("--dim: ", dim->first, " is given twice; expected each name once"));
  }
  return extents;
}

}  // namespace

// A file of that very name goes before a name of a tensor.
Expected<std::vector<NamedTensor>> read_named_tensors(const char* option, const std::vector<std::string>& texts,
                                                      uint64_t max_bytes) {
  std::vector<NamedTensor> tensors;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    std::error_code ignored;
    const bool named = equals != text.npos && !fs::exists(text, ignored);
    const std::string file = named ? text.substr(equals + 1) : text;
    if (file.empty()) return usage_error(text_of(option, ": found '", text, "', expected [NAME=]FILE.npy"));
    ISOBIT_TRY(Tensor tensor, formats::read_npy(file, std::min(max_bytes, formats::kNpyMaxBytes)));
    tensors.push_back({named ? text.substr(0, equals) : std::string(), std::move(tensor)});
  }
  return tensors;
}

void add_model_input_options(Command& command, ModelInputOptions& o) {
  command.list("-i,--input", "[NAME=]X.npy", o.inputs, "an input; those that are not given are drawn");
  command.list("--dim", "NAME=N", o.dims,
               "extent of a dimension that the model names and no input settles (default: 1)");
  command.option("--seed", "SEED", o.seed, "of inputs that are drawn (default: 1)");
}

Status read_model_inputs(const ModelInputOptions& o, uint64_t max_bytes, lab::InferenceRequest& request) {
  request.seed = o.seed.value_or(1);
  ISOBIT_TRY(request.extents, read_dims(o));
  ISOBIT_TRY(request.inputs, read_named_tensors("--input", o.inputs, max_bytes));
  return {};
}

}  // namespace isobit::cli
