#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/onnx/tensor_internal.h"

namespace isobit::onnx {
namespace {

// Before anything is opened: a path that could only lead down.
Status check_location(const std::string& location) {
  const fs::path path(location);
  if (location.empty()) return unreadable("external data: no location is given");
  if (location.find('\0') != std::string::npos) return unreadable("external data: the location is no path");
  const bool leaves =
      path.is_absolute() || std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  if (leaves) {
    return unreadable(text_of("external data at '", location, "': it must lie in the model's folder or below"));
  }
  return {};
}

}  // namespace

Expected<const PlainFile*> ExternalFiles::open(const std::string& location) {
  if (file_ && location == location_) return &*file_;
  if (folder_.empty()) return unreadable("external data: only a model that is read from a folder may have them");
  ISOBIT_RETURN_IF_ERROR(check_location(location));
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  if (error) return cannot("look into", folder_, error.value());
  // Links are allowed where they stay inside; what is opened is the end of the way, which is no link.
  const fs::path path = fs::canonical(folder / location, error);
  if (error) return cannot("open", folder_ / location, error.value());
  const auto [rest, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (rest != folder.end()) {
    return unreadable(text_of("external data at '", location, "': a link leads out of the model's folder"));
  }
  file_.reset();  // before there is another: a model may name more files than a process may have open
  ISOBIT_TRY(PlainFile file, PlainFile::open(path, Links::kRefuse));
  file_.emplace(std::move(file));
  location_ = location;
  return &*file_;
}

Status ExternalFiles::check(const std::string& location, uint64_t offset, uint64_t bytes) {
  ISOBIT_TRY(const PlainFile* file, open(location));
  if (offset <= file->size() && bytes <= file->size() - offset) return {};
  return unreadable(text_of("external data at '", location, "': ", bytes, " bytes from ", offset,
                            " on are asked for, the file has ", file->size()));
}

Status ExternalFiles::read(const std::string& location, uint64_t offset, std::span<uint8_t> to) {
  ISOBIT_TRY(const PlainFile* file, open(location));
  locations_.insert(location);
  return file->read_exactly(offset, to);
}

}  // namespace isobit::onnx
