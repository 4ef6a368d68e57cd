#include "isobit/lab/measure/npz.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <memory>
#include <set>

#include "isobit/base/text.h"

namespace isobit::lab::measure {
namespace {

constexpr uint64_t kMaxEntries = 1'000'000;
constexpr size_t kBlock = 64 * 1024;
constexpr std::string_view kEnding = ".npy";

// While it is there libarchive takes names for UTF-8 on this thread, whatever the locale of the process: in one without
// such characters it has no name to give.
class Utf8Names {
 public:
  Utf8Names() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = ::uselocale(utf8_);
  }
  ~Utf8Names() {
    if (utf8_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(utf8_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  const locale_t utf8_;
  locale_t before_ = nullptr;
};

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

  Status read(uint64_t most_bytes, const NpzTaker& taker) {
    const Utf8Names utf8;
    uint64_t left = most_bytes;
    std::set<std::string> seen;
    archive_entry* entry = nullptr;
    int code;
    while ((code = archive_read_next_header(get(), &entry)) == ARCHIVE_OK) {
      const char* path = archive_entry_pathname(entry);
      const int64_t size = archive_entry_size(entry);
      if (path == nullptr || size < 0 || seen.size() >= kMaxEntries) return damaged();
      const std::string inside = path;
      const std::string what = text_of(name_, ": entry '", inside, "'");
      if (!inside.ends_with(kEnding)) return unreadable(text_of(what, ": expected an .npy file"));
      if (!seen.insert(inside).second) return unreadable(text_of(what, ": is there twice"));
      if (static_cast<uint64_t>(size) > left) {
        return unreadable(text_of(what, ": the file unpacks to more than is read of one"));
      }
      left -= static_cast<uint64_t>(size);
      ISOBIT_TRY(Tensor tensor, content(what, static_cast<uint64_t>(size), taker));
      ISOBIT_RETURN_IF_ERROR(taker.take({inside.substr(0, inside.size() - kEnding.size()), std::move(tensor)}));
    }
    if (code != ARCHIVE_EOF || seen.empty()) return damaged();
    return {};
  }

 private:
  Expected<Tensor> content(const std::string& what, uint64_t size, const NpzTaker& taker) {
    formats::NpyStream stream{size, [&](std::span<uint8_t> to) { return next(what, to); }};
    if (taker.wants) stream.wants = [&](const formats::NpyLayout& layout) { return taker.wants(what, layout); };
    ISOBIT_TRY(Tensor tensor, formats::stream_npy(stream, what, size));
    // Its end, where the checksum is compared.
    uint8_t more;
    const la_ssize_t n = archive_read_data(get(), &more, 1);
    if (n < 0) return damaged();
    if (n > 0) return unreadable(text_of(what, ": has more than the ", size, " bytes that the archive says"));
    return tensor;
  }

  Status next(const std::string& what, std::span<uint8_t> to) {
    while (!to.empty()) {
      const la_ssize_t n = archive_read_data(get(), to.data(), to.size());
      if (n < 0) return damaged();
      if (n == 0) return unreadable(text_of(what, ": has fewer bytes than the archive says"));
      to = to.subspan(static_cast<size_t>(n));
    }
    return {};
  }

  const std::string name_;
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader_;
};

}  // namespace

Status read_npz(const fs::path& path, uint64_t most_bytes, const NpzTaker& taker) {
  ISOBIT_RETURN_IF_ERROR(PlainFile::open(path, Links::kFollow).map([](auto&&) {}));
  Zip zip(path.string());
  if (archive_read_open_filename(zip.get(), path.c_str(), kBlock) != ARCHIVE_OK) return zip.damaged();
  return zip.read(most_bytes, taker);
}

Status decode_npz(ByteView bytes, const std::string& name, uint64_t most_bytes, const NpzTaker& taker) {
  Zip zip(name);
  if (archive_read_open_memory(zip.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return zip.damaged();
  return zip.read(most_bytes, taker);
}

}  // namespace isobit::lab::measure
