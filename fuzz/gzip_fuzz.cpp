// Never more than the limit; what decompresses, compressed again by zlib, decompresses to the same; the input itself,
// compressed and cut short by one byte, is refused.
#include <zlib.h>

#include "isobit/formats/gzip.h"

using namespace isobit;

namespace {

constexpr uint64_t kLimit = 1 << 20;

Bytes compressed(ByteView data) {
  z_stream z{};
  ISOBIT_CHECK(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes out(deflateBound(&z, data.size()));
  static Bytef nothing = 0;
  z.next_in = data.empty() ? &nothing : const_cast<Bytef*>(data.data());
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  ISOBIT_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto plain = formats::gunzip({data, size}, "input", kLimit)) {
    ISOBIT_CHECK(plain->size() <= kLimit);
    ISOBIT_CHECK(formats::gunzip(compressed(*plain), "again", kLimit).value() == *plain);
  }
  const Bytes whole = compressed({data, size});
  ISOBIT_CHECK(!formats::gunzip(ByteView(whole).first(whole.size() - 1), "cut", kLimit));
  return 0;
}
