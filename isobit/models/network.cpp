#include "isobit/models/network.h"

#include "isobit/base/text.h"

namespace isobit::models {
namespace {

class BuiltIn : public Network {
 public:
  Expected<Model> build(const ModelConfig& config) const override {
    for (const auto& [field, file] :
         {std::pair("model.onnx", &config.onnx), std::pair("model.weights", &config.weights)}) {
      if (file->empty()) continue;
      return unreadable(text_of(field, ": '", *file, "' is a file, and this program reads no networks from files"));
    }
    if (traits_of(config.builder).is_file) {
      return unreadable(
          text_of("model.onnx: is missing; the network is one of a file: say where your copy of it lies, ",
                  "in the job or with --set model.onnx=FILE"));
    }
    return build_model(config);
  }
  Expected<std::vector<NamedTensor>> given_values() const override { return std::vector<NamedTensor>{}; }
  uint64_t given_bytes() const override { return 0; }
};

}  // namespace

std::shared_ptr<const Network> built_in() {
  static const auto network = std::make_shared<const BuiltIn>();
  return network;
}

}  // namespace isobit::models
