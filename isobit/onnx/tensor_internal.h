// From a TensorProto to a tensor. Internal.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "isobit/base/file.h"
#include "isobit/onnx/model.h"

namespace isobit::onnx::schema {
class TensorProto;
}  // namespace isobit::onnx::schema

namespace isobit::onnx {

// The files beside a model that hold tensors. The one that was asked for last stays open.
class ExternalFiles {
 public:
  // No folder: a tensor in another file is an error.
  ExternalFiles() = default;
  explicit ExternalFiles(const fs::path& folder) : folder_(folder) {}

  // Whether `location`, a relative path that stays in the folder (no "..", and no link that leads out of it), is a file
  // with that many bytes from `offset` on. kUnreadable when it is not.
  Status check(const std::string& location, uint64_t offset, uint64_t bytes);
  // Fills `to` from there.
  Status read(const std::string& location, uint64_t offset, std::span<uint8_t> to);
  // Of all that was read.
  const std::set<std::string>& locations() const { return locations_; }

 private:
  Expected<const PlainFile*> open(const std::string& location);

  fs::path folder_;
  std::optional<PlainFile> file_;
  std::string location_;  // its
  std::set<std::string> locations_;
};

// What all tensors of a file may still take.
struct TensorBudget {
  uint64_t bytes_left;
};

// `where` starts every message ("m.onnx: initializer 'w'"). The data of `proto` may be taken out of it.
Expected<TensorDef> tensor_of(schema::TensorProto& proto, const std::string& where, ExternalFiles& files,
                              TensorBudget& budget);

}  // namespace isobit::onnx
