#include "isobit/lab/measure/npz.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <algorithm>
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

  // Of the first entry.
  Expected<std::string> first_name() {
    const Utf8Names utf8;
    archive_entry* entry = nullptr;
    if (archive_read_next_header(get(), &entry) != ARCHIVE_OK) return damaged();
    const char* path = archive_entry_pathname(entry);
    if (path == nullptr) return damaged();
    return std::string(path);
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

// libarchive composes what it reads and has no function for that alone: it is given an archive of one empty entry.
Expected<std::string> composed(const std::string& name) {
  if (std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return name;
  if (name.size() > UINT16_MAX) return unreadable(text_of("a name of more than ", UINT16_MAX, " bytes"));
  constexpr uint16_t kUtf8 = 0x800;
  const auto facts = [&](ByteWriter& w) {  // flags, method, time and date, checksum and sizes: nothing; lengths
    for (const uint16_t v : {kUtf8, uint16_t{0}, uint16_t{0}, uint16_t{33}}) w.u16(v);
    for (int i = 0; i < 3; ++i) w.u32(0);
    w.u16(static_cast<uint16_t>(name.size()));
    w.u16(0);
  };
  ByteWriter zip, directory;
  zip.u32(0x04034b50);
  zip.u16(20);
  facts(zip);
  zip.fixed(as_bytes(name));
  directory.u32(0x02014b50);
  directory.u16(3 << 8 | 20);  // made under Unix
  directory.u16(20);
  facts(directory);
  for (int i = 0; i < 3; ++i) directory.u16(0);
  for (int i = 0; i < 2; ++i) directory.u32(0);  // attributes, and where the entry is
  directory.fixed(as_bytes(name));
  const auto begin = static_cast<uint32_t>(zip.size()), size = static_cast<uint32_t>(directory.size());
  zip.fixed(directory.view());
  zip.u32(0x06054b50);
  for (const uint16_t v : {0, 0, 1, 1}) zip.u16(v);
  zip.u32(size);
  zip.u32(begin);
  zip.u16(0);
  const Bytes bytes = zip.take();
  Zip archive("a name");
  if (archive_read_open_memory(archive.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return archive.damaged();
  return archive.first_name();
}

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
