#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>

#include "isobit/base/text.h"
#include "isobit/log/compression_internal.h"

namespace isobit::log::internal {
namespace {

constexpr int kLevel = 3;
constexpr int kMaxWindowLog = 27;
constexpr uint8_t kMagic[] = {0x28, 0xb5, 0x2f, 0xfd};  // of a frame with content; others are skippable

tl::unexpected<Error> damaged(const std::string& what, std::string_view problem) {
  return unreadable(text_of(what, ": field 'payload': ", problem));
}

}  // namespace

Bytes zstd_compressed(ByteView data) {
  Bytes out(ZSTD_compressBound(data.size()));
  const size_t size = ZSTD_compress(out.data(), out.size(), data.data(), data.size(), kLevel);
  out.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return out;
}

Expected<Bytes> zstd_content(ByteView data, uint64_t max_size, const std::string& what) {
  if (data.size() < std::size(kMagic) || !std::equal(std::begin(kMagic), std::end(kMagic), data.begin())) {
    return damaged(what, "is no zstd frame, expected the first bytes 28b52ffd; fetch the log again");
  }
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) return unavailable(text_of(what, ": not enough memory to decompress"));
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  Bytes out, chunk(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  for (;;) {
    ZSTD_outBuffer piece{chunk.data(), chunk.size(), 0};
    const size_t result = ZSTD_decompressStream(context.get(), &piece, &in);
    if (ZSTD_isError(result) != 0) {
      if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) {
        return unavailable(text_of(what, ": not enough memory to decompress"));
      }
      return damaged(what, text_of("the zstd frame is damaged near byte ", in.pos, " of ", in.size, ": ",
                                   ZSTD_getErrorName(result), "; fetch the log again"));
    }
    if (piece.pos > max_size - out.size()) {
      return rejected(text_of(what, ": field 'payload': decompresses to more than ", max_size,
                              " bytes, the most that this step can need"));
    }
    out.insert(out.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(piece.pos));
    if (result == 0) break;
    if (in.pos == in.size && piece.pos < piece.size) {
      return damaged(what, text_of("the zstd frame is cut short after ", in.size, " bytes; fetch the log again"));
    }
  }
  if (in.pos != in.size) {
    return damaged(what, text_of(in.size - in.pos, " unexpected bytes follow the zstd frame"));
  }
  return out;
}

}  // namespace isobit::log::internal
