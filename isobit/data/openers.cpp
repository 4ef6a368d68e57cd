#include "isobit/data/openers.h"

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/formats/npy.h"

namespace isobit::data {

Status FileBudget::take(const std::string& file, uint64_t bytes) {
  if (bytes > left_) return refused(file, "holds ", bytes, "a smaller set");
  left_ -= bytes;
  return {};
}

Status FileBudget::allow(const std::string& file, uint64_t bytes) const {
  return bytes <= left_ ? Status() : refused(file, "takes, to be read, ", bytes, "smaller files");
}

tl::unexpected<Error> FileBudget::refused(const std::string& file, std::string_view what, uint64_t bytes,
                                          std::string_view instead) const {
  return unavailable(text_of(file, ": ", what, human_bytes(bytes), ", more than the ", human_bytes(left_),
                             " that are left of ", human_bytes(allowed_), " for the data; use ", instead,
                             ", or allow more with --max-memory"));
}

Expected<Bytes> FileBudget::read(const std::string& file, uint64_t most) {
  ISOBIT_TRY(const PlainFile opened, PlainFile::open(file, Links::kFollow));
  if (opened.size() <= most) ISOBIT_RETURN_IF_ERROR(take(file, opened.size()));
  return read_file(file, std::min(most, opened.size()));
}

Expected<Tensor> FileBudget::read_npy(const std::string& file) {
  ISOBIT_TRY(const PlainFile opened, PlainFile::open(file, Links::kFollow));
  if (opened.size() <= formats::kNpyMaxBytes) ISOBIT_RETURN_IF_ERROR(take(file, opened.size()));
  return formats::read_npy(file, opened.size());
}

}  // namespace isobit::data
