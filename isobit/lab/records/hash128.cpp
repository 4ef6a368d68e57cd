#include "isobit/lab/records/hash128.h"

#include ISOBIT_XXHASH_HEADER

#include "isobit/base/text.h"

namespace isobit::lab::records {
namespace {

#ifdef ISOBIT_XXHASH_DISPATCHES
// The library's AVX kernels leave the upper halves of registers as they are, and until these are cleared whatever is
// compiled for the baseline machine runs at a third of its pace.
__attribute__((target("avx"))) void clear_upper_halves() { __builtin_ia32_vzeroupper(); }
void after_hashing() {
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) clear_upper_halves();
}
#else
void after_hashing() {}
#endif

}  // namespace

Hash128 hash_of(ByteView bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  after_hashing();
  return {hash.high64, hash.low64};
}

std::string hex_of(const Hash128& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t half : {hash.high, hash.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(half >> shift) & 15];
  }
  return text;
}

Expected<Hash128> hash_from_hex(std::string_view text, std::string_view what) {
  const Expected<Bytes> bytes = from_hex(text);
  if (!bytes || bytes->size() != 16) {
    return unreadable(text_of(what, ": found '", text.substr(0, 40), "', expected a hash of 32 hex digits"));
  }
  Hash128 hash;
  for (size_t i = 0; i < 16; ++i) {
    uint64_t& half = i < 8 ? hash.high : hash.low;
    half = half << 8 | (*bytes)[i];
  }
  return hash;
}

}  // namespace isobit::lab::records
