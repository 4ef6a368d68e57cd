#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "isobit/base/text.h"
#include "isobit/formats/gzip.h"

namespace isobit::formats {
namespace {

constexpr size_t kChunk = 1 << 16;

// One gzip member at a time; next_in and avail_in of zlib's stream say how far it came.
class Member {
 public:
  Member() : stream_(new z_stream{}) {
    const int started = ::inflateInit2(stream_.get(), 16 + MAX_WBITS);  // gzip framing only, its CRC checked
    ISOBIT_CHECK(started == Z_OK);
  }
  ~Member() { ::inflateEnd(stream_.get()); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  z_stream& stream() { return *stream_; }

 private:
  std::unique_ptr<z_stream> stream_;
};

// Appends the member at the front of `data` to `out` and returns how many bytes of `data` it took. At `enough` bytes of
// output it stops in the middle.
Expected<size_t> inflate_member(ByteView data, const std::string& name, uint64_t max_size, uint64_t enough,
                                Bytes& chunk, Bytes& out) {
  Member member;
  z_stream& z = member.stream();
  size_t fed = 0;
  for (;;) {
    if (z.avail_in == 0) {
      const size_t n = std::min<size_t>(data.size() - fed, 1u << 30);
      z.next_in = const_cast<Bytef*>(data.data() + fed);
      z.avail_in = static_cast<uInt>(n);
      fed += n;
    }
    z.next_out = chunk.data();
    z.avail_out = static_cast<uInt>(chunk.size());
    const int result = ::inflate(&z, Z_NO_FLUSH);
    const size_t produced = chunk.size() - z.avail_out;
    if (produced > max_size - out.size()) {
      return unreadable(text_of(name, ": decompresses to more than ", max_size, " bytes, the most expected here"));
    }
    out.insert(out.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(produced));
    if (out.size() >= enough) return fed - z.avail_in;
    if (result == Z_STREAM_END) return fed - z.avail_in;
    if (result == Z_BUF_ERROR || (result == Z_OK && z.avail_in == 0 && fed == data.size() && produced == 0)) {
      return unreadable(text_of(name, ": the gzip data is cut short after ", data.size(), " bytes"));
    }
    if (result == Z_MEM_ERROR) return unavailable(text_of(name, ": not enough memory to decompress"));
    if (result != Z_OK) {
      return unreadable(text_of(name, ": the gzip data is damaged near byte ", fed - z.avail_in, ": ",
                                z.msg != nullptr ? z.msg : "unknown error", "; fetch the file again"));
    }
  }
}

}  // namespace

bool gzip_available() { return true; }

namespace {

Expected<Bytes> members(ByteView data, const std::string& name, uint64_t max_size, uint64_t enough) {
  if (!is_gzip(data)) return unreadable(text_of(name, ": is no gzip file, expected the first bytes 1f8b"));
  Bytes out, chunk(kChunk);
  while (!data.empty() && out.size() < enough) {
    if (!is_gzip(data)) {
      return unreadable(text_of(name, ": ", data.size(), " bytes that are no gzip follow the compressed data"));
    }
    ISOBIT_TRY(const size_t used, inflate_member(data, name, max_size, enough, chunk, out));
    data = data.subspan(used);
  }
  return out;
}

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

}  // namespace

Expected<Bytes> gunzip(ByteView data, const std::string& name, uint64_t max_size) {
  return members(data, name, max_size, kAll);
}

Expected<Bytes> gunzip_front(ByteView data, const std::string& name, uint64_t size) {
  ISOBIT_TRY(Bytes out, members(data, name, kAll, size));
  if (out.size() > size) out.resize(static_cast<size_t>(size));
  return out;
}

}  // namespace isobit::formats
