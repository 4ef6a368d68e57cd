#include <algorithm>
#include <cstring>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/image_dataset.h"
#include "isobit/data/openers.h"
#include "isobit/data/resize.h"
#include "isobit/formats/image.h"

namespace isobit::data {
namespace {

constexpr size_t kMaxClassFolders = 100000;

using Names = std::vector<std::string>;

// The names in a folder but for hidden ones, ascending byte by byte, whatever order the system lists them in.
Expected<Names> names_in(const fs::path& folder) {
  Names names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error) return cannot("list", folder, error.value());
  for (; entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error) return cannot("list", folder, error.value());
  std::ranges::sort(names);
  return names;
}

bool is_image_name(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return name.ends_with(".png") || name.ends_with(".jpg") || name.ends_with(".jpeg");
}

// Folders of classes, each with its images.
struct ClassFolder {
  std::string name;
  fs::path folder;
  Names files;
};

Expected<std::vector<ClassFolder>> classes_in(const fs::path& folder) {
  ISOBIT_TRY(const Names names, names_in(folder));
  if (names.empty() || names.size() > kMaxClassFolders) {
    return unreadable(text_of(folder.string(), ": found ", names.size(), " folders, expected one for each class, 1 to ",
                              kMaxClassFolders, "; put the images into folders CLASS/*.png or *.jpg"));
  }
  std::vector<ClassFolder> classes;
  for (const std::string& name : names) {
    ClassFolder found{name, folder / name, {}};
    std::error_code ignored;
    if (!fs::is_directory(found.folder, ignored)) {
      return unreadable(text_of(found.folder.string(), ": found a file, expected a folder for each class alone; ",
                                "move it elsewhere"));
    }
    ISOBIT_TRY(found.files, names_in(found.folder));
    for (const std::string& file : found.files) {
      if (is_image_name(file)) continue;
      return unreadable(text_of((found.folder / file).string(),
                                ": found something that is not named .png, .jpg or .jpeg, expected images alone; ",
                                "move it elsewhere"));
    }
    if (found.files.empty()) {
      return unreadable(text_of(found.folder.string(), ": found no image, expected *.png or *.jpg of class \"", name,
                                "\"; remove the folder"));
    }
    classes.push_back(std::move(found));
  }
  return classes;
}

int64_t count_of(const std::vector<ClassFolder>& classes) {
  int64_t count = 0;
  for (const ClassFolder& c : classes) count += static_cast<int64_t>(c.files.size());
  return count;
}

// Brings images to the form of the first one and of the job. Whether there is room is asked before any is taken.
class Decoder {
 public:
  Decoder(const DataConfig& config, const FileBudget& budget) : config_(config), budget_(budget) {}

  // What an image will be, which its first bytes and the job say. `room` is then asked for that many bytes.
  template <class Room>
  Expected<Tensor> decode(const std::string& file, const Room& room) {
    ISOBIT_TRY(const Bytes bytes, read(file));
    ISOBIT_TRY(const formats::ImageHeader header, formats::image_header(bytes, file));
    ISOBIT_RETURN_IF_ERROR(room(bytes_of(result_of(header.shape))));
    ISOBIT_RETURN_IF_ERROR(budget_.allow(file, bytes.size() + header.decoding_bytes + bytes_of_change(header.shape)));
    ISOBIT_TRY(Tensor image, formats::decode_image(bytes, file));
    if (config_.height != 0) image = resized_by_area(image, config_.height, config_.width);
    if (config_.channels == 3 && image.shape()[0] == 1) image = tripled(image);
    ISOBIT_RETURN_IF_ERROR(check(file, image.shape()));
    return image;
  }

 private:
  Expected<Bytes> read(const std::string& file) const {
    ISOBIT_TRY(const PlainFile opened, PlainFile::open(file, Links::kFollow));
    if (opened.size() <= formats::kMaxImageFile) ISOBIT_RETURN_IF_ERROR(budget_.allow(file, opened.size()));
    return read_file(file, std::min(formats::kMaxImageFile, opened.size()));
  }

  static uint64_t bytes_of(const Shape& shape) { return static_cast<uint64_t>(shape.elements()); }

  Shape resized(const Shape& shape) const {
    return config_.height != 0 ? Shape{shape[0], config_.height, config_.width} : shape;
  }
  Shape result_of(const Shape& shape) const {
    const Shape size = resized(shape);
    return config_.channels == 3 ? Shape{3, size[1], size[2]} : size;
  }
  // What decode() takes of an image when it has its pixels: those of another size, with two rows of sums, and in
  // colour.
  uint64_t bytes_of_change(const Shape& shape) const {
    const uint64_t sums = 2 * sizeof(uint64_t) * static_cast<uint64_t>(config_.width);
    const uint64_t size = config_.height != 0 ? bytes_of(resized(shape)) + sums : 0;
    return size + (config_.channels == 3 && shape[0] == 1 ? bytes_of(result_of(shape)) : 0);
  }

  static Tensor tripled(const Tensor& grey) {
    Tensor colour(DType::kUint8, Shape{3, grey.shape()[1], grey.shape()[2]});
    auto* to = static_cast<uint8_t*>(colour.raw());
    for (size_t c = 0; c < 3; ++c) std::memcpy(to + c * grey.bytes(), grey.raw(), grey.bytes());
    return colour;
  }

  Status check(const std::string& file, const Shape& shape) {
    if (first_.empty()) {
      first_ = file;
      shape_ = shape;
    }
    if (config_.channels == 1 && shape[0] != 1) {
      return unreadable(text_of(file, ": found a colour image, expected grey for data.channels = 1; convert it"));
    }
    if (shape == shape_) return {};
    const bool channels = shape[0] != shape_[0];
    return unreadable(text_of(file, ": found ", size_text(shape), ", expected ", size_text(shape_), " as in ", first_,
                              "; ", channels ? "set data.channels" : "set data.height and data.width",
                              ", or convert it"));
  }

  static std::string size_text(const Shape& shape) {
    return text_of(shape[0] == 1 ? "a grey image of " : "a colour image of ", shape[2], " by ", shape[1], " pixels");
  }

  const DataConfig& config_;
  const FileBudget& budget_;
  std::string first_;
  Shape shape_;
};

// Every image of the split, class by class. The first says how large all are, and whether there is room for them, which
// is asked before the others are read. label_of(name of a class): its number.
template <class LabelOf>
Expected<ImagePart> read_part(const fs::path& folder, const std::vector<ClassFolder>& classes, const LabelOf& label_of,
                              Decoder& decoder, FileBudget& budget) {
  const int64_t count = count_of(classes);
  ImagePart part;
  uint8_t* to = nullptr;
  for (const ClassFolder& c : classes) {
    ISOBIT_TRY(const int64_t label, label_of(c));
    for (const std::string& file : c.files) {
      const auto room = [&](uint64_t bytes) {  // of the first stands for all
        return to != nullptr ? Status() : budget.take(folder.string(), bytes * static_cast<uint64_t>(count));
      };
      ISOBIT_TRY(const Tensor image, decoder.decode((c.folder / file).string(), room));
      if (to == nullptr) {
        const Shape& shape = image.shape();
        part.samples = Tensor(DType::kUint8, Shape{count, shape[0], shape[1], shape[2]});
        to = part.samples.data<uint8_t>();
      }
      std::memcpy(to, image.raw(), image.bytes());
      to += image.bytes();
      part.labels.push_back(label);
    }
  }
  return part;
}

}  // namespace

// Only the files say how many classes there are.
std::optional<DataShape> shape_of_images(const DataConfig&) { return std::nullopt; }

OpenResult open_images(const DataConfig& config, FileBudget& budget) {
  const fs::path train_folder = fs::path(config.path) / "train", test_folder = fs::path(config.path) / "test";
  ISOBIT_TRY(const std::vector<ClassFolder> train, classes_in(train_folder));
  const auto label_of = [&](const ClassFolder& c) -> Expected<int64_t> {
    const auto found = std::ranges::lower_bound(train, c.name, {}, &ClassFolder::name);
    if (found != train.end() && found->name == c.name) return found - train.begin();
    return unreadable(text_of(c.folder.string(), ": found a class that ", train_folder.string(),
                              " has not, expected classes of the training alone; remove the folder or add it there"));
  };
  Decoder decoder(config, budget);
  ISOBIT_TRY(ImagePart part, read_part(train_folder, train, label_of, decoder, budget));
  ImagePart test{Tensor(DType::kUint8, Shape{0}), {}};
  std::error_code ignored;
  if (fs::exists(test_folder, ignored)) {
    ISOBIT_TRY(const std::vector<ClassFolder> classes, classes_in(test_folder));
    ISOBIT_TRY(test, read_part(test_folder, classes, label_of, decoder, budget));
  }
  const Shape& shape = part.samples.shape();
  ImageSpec spec{"images", Shape{shape[1], shape[2], shape[3]}, static_cast<int64_t>(train.size()),
                 preprocessing_of(DType::kUint8, config.bytes)};
  return std::make_unique<ImageDataset>(std::move(spec), std::move(part), std::move(test));
}

}  // namespace isobit::data
