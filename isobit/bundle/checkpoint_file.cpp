#include "isobit/bundle/checkpoint_file.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::bundle {

Expected<CheckpointFile> CheckpointFile::open(const fs::path& path, uint64_t max_size, Check check) {
  ISOBIT_TRY(ReadFile file, ReadFile::open(path));
  if (file.size() > max_size) {
    return unreadable(text_of(path.string(), ": is ", human_bytes(file.size()), ", more than the ",
                              human_bytes(max_size), " this file may have"));
  }
  return CheckpointFile(path, std::move(file), std::move(check));
}

Status CheckpointFile::read(uint64_t offset, std::span<uint8_t> to) {
  ISOBIT_CHECK(offset == position_);
  if (broken_) return tl::unexpected<Error>(*broken_);
  const auto read = file_.read_at(offset, to);
  if (!read) {
    broken_ = read.error();
    return tl::unexpected<Error>(*broken_);
  }
  const size_t got = *read;
  hash_.update(ByteView(to).first(got));
  position_ += got;
  if (got == to.size()) return {};
  return unreadable(text_of(path_.string(), ": is shorter than it was when it was opened; something is writing it"));
}

Status CheckpointFile::finish() {
  Bytes buffer(static_cast<size_t>(std::min<uint64_t>(size() - std::min(size(), position_), 1 << 20)));
  while (position_ < size()) {
    const auto piece = static_cast<size_t>(std::min<uint64_t>(buffer.size(), size() - position_));
    if (!read(position_, std::span(buffer).first(piece))) break;  // shorter than it was: the check says so
  }
  if (broken_) return tl::unexpected<Error>(*broken_);
  return check_({position_, hash_.digest()});
}

}  // namespace isobit::bundle
