#include <algorithm>
#include <cstring>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/image_dataset.h"
#include "isobit/data/openers.h"
#include "isobit/formats/cifar.h"

namespace isobit::data {
namespace {

using Files = std::vector<std::string>;

constexpr int64_t kChannels = 3, kSide = 32, kClasses = 10;
constexpr uint64_t kMaxRecordFile = uint64_t{4} << 30;

struct FileLists {
  Files train, test;
};

// Does `name` end in data_batch_N.bin?
bool is_data_batch(const std::string& name) {
  const std::string marker = "data_batch_", end = ".bin";
  const size_t at = name.rfind(marker);
  if (at == std::string::npos || !name.ends_with(end)) return false;
  const size_t first = at + marker.size(), last = name.size() - end.size();
  return first < last &&
         std::all_of(name.begin() + static_cast<ptrdiff_t>(first), name.begin() + static_cast<ptrdiff_t>(last),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// The published set when its first file is there (then it must be whole, which reading finds out), else whatever is
// named after it.
Expected<FileLists> files_in(const fs::path& folder) {
  FileLists lists;
  std::error_code error;
  if (fs::exists(folder / "data_batch_1.bin", error)) {
    for (int i = 1; i <= 5; ++i) lists.train.push_back((folder / text_of("data_batch_", i, ".bin")).string());
    lists.test.push_back((folder / "test_batch.bin").string());
    return lists;
  }
  fs::directory_iterator entry(folder, error);
  if (error) {
    return unreadable(text_of(folder.string(), ": cannot open the folder: ", error.message(),
                              "; set data.path to the folder of the CIFAR-10 files"));
  }
  for (; entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_data_batch(name)) lists.train.push_back(entry->path().string());
    if (name.ends_with("test_batch.bin")) lists.test.push_back(entry->path().string());
    if (error) break;
  }
  const auto missing = [&](const char* expected) {
    return unreadable(
        text_of(folder.string(), ": found no file named ", expected,
                ", expected the binary version of CIFAR-10; set data.path to its folder or name data.files"));
  };
  if (lists.train.empty()) return missing("data_batch_1.bin (or *data_batch_N.bin)");
  if (lists.test.empty()) return missing("test_batch.bin (or *test_batch.bin)");
  std::sort(lists.train.begin(), lists.train.end());
  std::sort(lists.test.begin(), lists.test.end());
  return lists;
}

Expected<FileLists> file_lists(const DataConfig& config) {
  const bool named = !config.files.empty() || !config.test_files.empty();
  if (!named) return files_in(config.path);
  if (!config.path.empty()) {
    return unreadable(
        "data.path: found a folder beside data.files or data.test_files, expected one or the other; remove one");
  }
  const auto missing = [](const char* field) {
    return unreadable(text_of("data.", field, ": found nothing, expected record files; name at least one"));
  };
  if (config.files.empty()) return missing("files");
  if (config.test_files.empty()) return missing("test_files");
  return FileLists{config.files, config.test_files};
}

Expected<ImagePart> read_part(const Files& files, FileBudget& budget) {
  std::vector<formats::CifarRecords> all;
  int64_t count = 0;
  for (const std::string& file : files) {
    ISOBIT_TRY(const Bytes bytes, budget.read(file, kMaxRecordFile));
    ISOBIT_TRY(formats::CifarRecords records, formats::decode_cifar10(bytes, file));
    count += records.labels.elements();
    all.push_back(std::move(records));
  }
  ImagePart part{Tensor(DType::kUint8, Shape{count, kChannels, kSide, kSide}), {}};
  auto* pixels = part.samples.data<uint8_t>();
  for (const formats::CifarRecords& records : all) {
    std::memcpy(pixels, records.images.raw(), records.images.bytes());
    pixels += records.images.bytes();
    const auto labels = records.labels.span<uint8_t>();
    part.labels.insert(part.labels.end(), labels.begin(), labels.end());
  }
  return part;
}

}  // namespace

std::optional<DataShape> shape_of_cifar10(const DataConfig&) {
  return shape_of_classes({kChannels, kSide, kSide}, kClasses);
}

OpenResult open_cifar10(const DataConfig& config, FileBudget& budget) {
  ISOBIT_TRY(const FileLists lists, file_lists(config));
  ISOBIT_TRY(ImagePart train, read_part(lists.train, budget));
  ISOBIT_TRY(ImagePart test, read_part(lists.test, budget));
  ImageSpec spec{"cifar10", Shape{kChannels, kSide, kSide}, kClasses,
                 preprocessing_named("cifar10-standardized-1", DType::kUint8, DType::kFloat32).value()};
  return std::make_unique<ImageDataset>(std::move(spec), std::move(train), std::move(test));
}

}  // namespace isobit::data
