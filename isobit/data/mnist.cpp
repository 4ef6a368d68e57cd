#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/image_dataset.h"
#include "isobit/data/labels.h"
#include "isobit/data/openers.h"
#include "isobit/formats/gzip.h"
#include "isobit/formats/idx.h"

namespace isobit::data {
namespace {

constexpr int64_t kSide = 28, kClasses = 10;

struct IdxFile {
  std::string path;  // the one of the two that was there
  Bytes bytes;       // decompressed
};

// folder/name, or folder/name.gz.
Expected<IdxFile> read_idx(const fs::path& folder, const std::string& name) {
  const fs::path plain = folder / name, compressed = folder / (name + ".gz");
  std::error_code ignored;
  const bool is_plain = fs::exists(plain, ignored);
  if (!is_plain && !fs::exists(compressed, ignored)) {
    return unreadable(text_of(plain.string(), ": found neither this file nor ", name,
                              ".gz, expected one of them; set data.path to the folder of the four MNIST files"));
  }
  IdxFile file{(is_plain ? plain : compressed).string(), {}};
  ISOBIT_TRY(file.bytes, read_file(file.path, formats::kIdxMaxBytes));
  if (is_plain) return file;
  ISOBIT_TRY(file.bytes, formats::gunzip(file.bytes, file.path, formats::kIdxMaxBytes));
  return file;
}

Expected<ImagePart> read_part(const fs::path& folder, const std::string& prefix) {
  ISOBIT_TRY(const IdxFile images_file, read_idx(folder, prefix + "-images-idx3-ubyte"));
  ISOBIT_TRY(const Tensor images, formats::decode_idx_images(images_file.bytes, images_file.path));
  const Shape& shape = images.shape();
  if (shape[1] != kSide || shape[2] != kSide) {
    return unreadable(text_of(images_file.path, ": found images of ", shape[1], "x", shape[2], ", expected ", kSide,
                              "x", kSide, "; save others as .npy and use dataset \"npy\""));
  }
  ISOBIT_TRY(const IdxFile labels_file, read_idx(folder, prefix + "-labels-idx1-ubyte"));
  ISOBIT_TRY(const Tensor labels, formats::decode_idx(labels_file.bytes, labels_file.path));
  ImagePart part{images, {}};
  ISOBIT_TRY(part.labels, labels_of(labels, labels_file.path, shape[0], images_file.path, kClasses));
  return part;
}

}  // namespace

OpenResult open_mnist(const DataConfig& config) {
  ISOBIT_TRY(ImagePart train, read_part(config.path, "train"));
  ISOBIT_TRY(ImagePart test, read_part(config.path, "t10k"));
  ImageSpec spec{"mnist", Shape{1, kSide, kSide}, DType::kUint8, kClasses, "u8/255", {divided_by(255.0f)}};
  return std::make_unique<ImageDataset>(std::move(spec), std::move(train), std::move(test));
}

}  // namespace isobit::data
