// An ONNX file of a model: the inverse of what model.h reads. The same model and options give the same bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/onnx/model.h"

namespace isobit::onnx {

struct EncodeOptions {
  // Of the initializers in the file itself, which Protocol Buffers bound at 2 GB. Beyond that those of kSmallTensor
  // bytes and more lie in a second file.
  uint64_t most_tensor_bytes = (uint64_t{2} << 30) - (uint64_t{128} << 20);
  // The name of the second file, in the folder of the first; empty: there is none. write_model chooses it itself.
  std::string data_file = {};
};

inline constexpr uint64_t kSmallTensor = 1024;
// Where tensors begin in the second file: other programs map it into memory page by page.
inline constexpr uint64_t kDataAlignment = 4096;

// Files piece by piece: views into `own` and into the model's tensors, which must outlive them, so that weights are not
// copied. Moved, not copied: a copy's views would be of another's bytes.
struct Encoded {
  std::vector<ByteView> file;
  std::vector<ByteView> data;  // the second one; empty: there is none
  std::vector<std::unique_ptr<const Bytes>> own;
  uint64_t file_bytes = 0, data_bytes = 0;

  Bytes whole_file() const;  // without the second one
};

// Errors: kUnreadable for what plain data do not hold in full (functions, types other than tensors, tensors of types
// that isobit does not have, sparse ones, attributes that isobit never takes); kUnavailable for a model that is larger
// than a file may be.
Expected<Encoded> encode_model(const Model& model, const EncodeOptions& options = {});

struct WrittenModel {
  uint64_t bytes = 0;       // of both files
  std::string data_file{};  // the name of the second one; empty: there is none
};

// Writes `path` and, where it is needed, "NAME.<16 random hex digits>.data" beside it: each whole and durable or not at
// all, the second one first. So what stands at `path` is at any time the old model with its tensors or the new one with
// its own. Of a model that is replaced, second files of such a name that it has in this folder are removed afterwards;
// who is killed in between leaves one of the two, which no model names. Errors: as encode_model and write_file_durably.
Expected<WrittenModel> write_model(const fs::path& path, const Model& model, const WriteOptions& options = {},
                                   EncodeOptions encode = {});

}  // namespace isobit::onnx
