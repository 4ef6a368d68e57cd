#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/image_dataset.h"
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
Expected<IdxFile> read_idx(const fs::path& folder, const std::string& name, FileBudget& budget) {
  const fs::path plain = folder / name, compressed = folder / (name + ".gz");
  std::error_code ignored;
  const bool is_plain = fs::exists(plain, ignored);
  if (!is_plain && !fs::exists(compressed, ignored)) {
    return unreadable(text_of(plain.string(), ": found neither this file nor ", name,
                              ".gz, expected one of them; set data.path to the folder of the four MNIST files"));
  }
  IdxFile file{(is_plain ? plain : compressed).string(), {}};
  ISOBIT_TRY(file.bytes, budget.read(file.path, formats::kIdxMaxBytes));
  if (is_plain) return file;
  // A few kilobytes may hold gigabytes: what they are said to hold is looked at first, and no more is taken.
  ISOBIT_TRY(const Bytes front, formats::gunzip_front(file.bytes, file.path, formats::kIdxMaxHeader));
  ISOBIT_TRY(const uint64_t size, formats::idx_size(front, file.path));
  ISOBIT_RETURN_IF_ERROR(budget.take(file.path, size));
  ISOBIT_TRY(file.bytes, formats::gunzip(file.bytes, file.path, size + 1));  // one more, so that it shows
  return file;
}

Expected<ImagePart> read_part(const fs::path& folder, const std::string& prefix, FileBudget& budget) {
  ISOBIT_TRY(const IdxFile images_file, read_idx(folder, prefix + "-images-idx3-ubyte", budget));
  ISOBIT_TRY(const Tensor images, formats::decode_idx_images(images_file.bytes, images_file.path));
  const Shape& shape = images.shape();
  if (shape[1] != kSide || shape[2] != kSide) {
    return unreadable(text_of(images_file.path, ": found images of ", shape[1], "x", shape[2], ", expected ", kSide,
                              "x", kSide, "; save others as .npy and use dataset \"npy\""));
  }
  ISOBIT_TRY(const IdxFile labels_file, read_idx(folder, prefix + "-labels-idx1-ubyte", budget));
  ISOBIT_TRY(const Tensor labels, formats::decode_idx_labels(labels_file.bytes, labels_file.path, kClasses));
  if (labels.elements() != shape[0]) {
    return unreadable(text_of(labels_file.path, ": found ", labels.elements(), " labels, expected ", shape[0],
                              ", one for each sample of ", images_file.path, "; use files that belong together"));
  }
  const auto values = labels.span<uint8_t>();
  return ImagePart{images, {values.begin(), values.end()}};
}

}  // namespace

std::optional<DataShape> shape_of_mnist(const DataConfig&) { return shape_of_classes({1, kSide, kSide}, kClasses); }

OpenResult open_mnist(const DataConfig& config, FileBudget& budget) {
  ISOBIT_TRY(ImagePart train, read_part(config.path, "train", budget));
  ISOBIT_TRY(ImagePart test, read_part(config.path, "t10k", budget));
  ImageSpec spec{"mnist", Shape{1, kSide, kSide}, kClasses, preprocessing_of(DType::kUint8, ByteRule::kScaled)};
  return std::make_unique<ImageDataset>(std::move(spec), std::move(train), std::move(test));
}

}  // namespace isobit::data
