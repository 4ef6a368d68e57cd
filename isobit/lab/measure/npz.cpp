#include "isobit/lab/measure/npz.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <set>

#include "isobit/base/text.h"
#include "isobit/formats/npy.h"

namespace isobit::lab::measure {
namespace {

constexpr uint64_t kMaxEntries = 1'000'000;
constexpr size_t kBlock = 64 * 1024;
constexpr std::string_view kEnding = ".npy";

class Zip {
 public:
  explicit Zip(std::string name) : name_(std::move(name)), reader_(archive_read_new(), &archive_read_free) {
    // By its directory: one that was cut short has none.
    archive_read_support_format_zip_seekable(reader_.get());
  }
  archive* get() const { return reader_.get(); }
  tl::unexpected<Error> damaged() const {
    const char* why = archive_error_string(reader_.get());
    return unreadable(text_of(name_, ": no whole .npz file: ", why == nullptr ? "damaged" : why));
  }

  Status read(uint64_t most_bytes, const std::function<Status(NamedTensor)>& take) {
    uint64_t left = most_bytes;
    std::set<std::string> seen;
    archive_entry* entry = nullptr;
    int code;
    while ((code = archive_read_next_header(get(), &entry)) == ARCHIVE_OK) {
      const char* path = archive_entry_pathname(entry);
      if (path == nullptr || seen.size() >= kMaxEntries) return damaged();
      const std::string inside = path;
      const std::string what = text_of(name_, ": entry '", inside, "'");
      if (!inside.ends_with(kEnding)) return unreadable(text_of(what, ": expected an .npy file"));
      if (!seen.insert(inside).second) return unreadable(text_of(what, ": is there twice"));
      ISOBIT_TRY(const Bytes bytes, content(what, left));
      left -= bytes.size();
      ISOBIT_TRY(Tensor tensor, formats::decode_npy(bytes, what, most_bytes));
      ISOBIT_RETURN_IF_ERROR(take({inside.substr(0, inside.size() - kEnding.size()), std::move(tensor)}));
    }
    if (code != ARCHIVE_EOF || seen.empty()) return damaged();
    return {};
  }

 private:
  // What an entry says of its size is not believed: memory grows with what comes out of it.
  Expected<Bytes> content(const std::string& what, uint64_t most) {
    Bytes bytes;
    for (;;) {
      const size_t before = bytes.size();
      bytes.resize(before + kBlock);
      const la_ssize_t n = archive_read_data(get(), bytes.data() + before, kBlock);
      if (n < 0) return damaged();
      bytes.resize(before + static_cast<size_t>(n));
      if (bytes.size() > most) return unreadable(text_of(what, ": the file unpacks to more than is read of one"));
      if (n == 0) return bytes;
    }
  }

  const std::string name_;
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader_;
};

}  // namespace

Status read_npz(const fs::path& path, uint64_t most_bytes, const std::function<Status(NamedTensor)>& take) {
  ISOBIT_RETURN_IF_ERROR(PlainFile::open(path, Links::kFollow).map([](auto&&) {}));
  Zip zip(path.string());
  if (archive_read_open_filename(zip.get(), path.c_str(), kBlock) != ARCHIVE_OK) return zip.damaged();
  return zip.read(most_bytes, take);
}

Status decode_npz(ByteView bytes, const std::string& name, uint64_t most_bytes,
                  const std::function<Status(NamedTensor)>& take) {
  Zip zip(name);
  if (archive_read_open_memory(zip.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return zip.damaged();
  return zip.read(most_bytes, take);
}

}  // namespace isobit::lab::measure
