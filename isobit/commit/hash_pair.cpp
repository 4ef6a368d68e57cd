#include "isobit/commit/hash_pair.h"

#include "isobit/base/status.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include <cstring>
#include <utility>
#endif

namespace isobit::commit {
namespace {

#if defined(__x86_64__)

#define ISOBIT_SHA_TARGET __attribute__((target("sha,sse4.1")))
#define ISOBIT_SHA_INLINE __attribute__((target("sha,sse4.1"), always_inline)) inline

constexpr size_t kBlock = 64, kLengthAt = 56;

// FIPS 180-4, 4.2.2.
alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The eight words of a hash as the instructions want them: from the highest lane down.
struct Words {
  __m128i abef, cdgh;
};

// FIPS 180-4, 5.3.3.
ISOBIT_SHA_INLINE Words initial_words() {
  return {_mm_set_epi32(0x6a09e667, static_cast<int>(0xbb67ae85), 0x510e527f, static_cast<int>(0x9b05688c)),
          _mm_set_epi32(0x3c6ef372, static_cast<int>(0xa54ff53a), 0x1f83d9ab, 0x5be0cd19)};
}

// A message in the course of one block: its words, and the last sixteen of the schedule in four registers.
struct Message {
  Words words;
  __m128i schedule[4];
};

// Rounds 4 kFour to 4 kFour + 3. The instruction makes two rounds and leaves what is now "abef" in the place of "cdgh".
template <int kFour>
ISOBIT_SHA_INLINE void four_rounds(Message& m, const uint8_t* block) {
  __m128i& w = m.schedule[kFour % 4];
  if constexpr (kFour < 4) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    w = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * kFour)), big_endian);
  } else {
    const __m128i before = m.schedule[(kFour + 3) % 4];
    w = _mm_sha256msg1_epu32(w, m.schedule[(kFour + 1) % 4]);
    w = _mm_sha256msg2_epu32(_mm_add_epi32(w, _mm_alignr_epi8(before, m.schedule[(kFour + 2) % 4], 4)), before);
  }
  const __m128i sum = _mm_add_epi32(w, _mm_load_si128(reinterpret_cast<const __m128i*>(kRound + 4 * kFour)));
  m.words.cdgh = _mm_sha256rnds2_epu32(m.words.cdgh, m.words.abef, sum);
  m.words.abef = _mm_sha256rnds2_epu32(m.words.abef, m.words.cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

template <int... kFour>
ISOBIT_SHA_INLINE void all_rounds(Message& a, Message& b, const uint8_t* block_a, const uint8_t* block_b,
                                  std::integer_sequence<int, kFour...>) {
  ((four_rounds<kFour>(a, block_a), four_rounds<kFour>(b, block_b)), ...);
}

ISOBIT_SHA_INLINE Words sum_of(const Words& x, const Words& y) {
  return {_mm_add_epi32(x.abef, y.abef), _mm_add_epi32(x.cdgh, y.cdgh)};
}

ISOBIT_SHA_TARGET void compress(Words& a, Words& b, const uint8_t* from_a, const uint8_t* from_b, size_t blocks) {
  for (; blocks > 0; --blocks, from_a += kBlock, from_b += kBlock) {
    Message one{a, {}}, two{b, {}};
    all_rounds(one, two, from_a, from_b, std::make_integer_sequence<int, 16>());
    a = sum_of(a, one.words);
    b = sum_of(b, two.words);
  }
}

ISOBIT_SHA_TARGET Digest digest_of(const Words& words) {
  const __m128i reversed = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
  Digest out;
  auto* to = reinterpret_cast<__m128i*>(out.data());
  _mm_storeu_si128(to, _mm_shuffle_epi8(_mm_unpackhi_epi64(words.cdgh, words.abef), reversed));
  _mm_storeu_si128(to + 1, _mm_shuffle_epi8(_mm_unpacklo_epi64(words.cdgh, words.abef), reversed));
  return out;
}

// What follows the whole blocks of a message: its rest, a one bit, zeros, its length in bits. Returns the blocks of it.
size_t fill_tail(ByteView message, uint8_t* tail) {
  const size_t rest = message.size() % kBlock, blocks = rest < kLengthAt ? 1 : 2;
  std::memset(tail, 0, 2 * kBlock);
  if (rest > 0) std::memcpy(tail, message.data() + (message.size() - rest), rest);
  tail[rest] = 0x80;
  const uint64_t bits = __builtin_bswap64(static_cast<uint64_t>(message.size()) * 8);
  std::memcpy(tail + blocks * kBlock - 8, &bits, 8);
  return blocks;
}

ISOBIT_SHA_TARGET TwoDigests pair_at_once(ByteView first, ByteView second) {
  uint8_t tail_a[2 * kBlock], tail_b[2 * kBlock];
  const size_t blocks = fill_tail(first, tail_a);
  fill_tail(second, tail_b);
  Words a = initial_words(), b = a;
  compress(a, b, first.data(), second.data(), first.size() / kBlock);
  compress(a, b, tail_a, tail_b, blocks);
  return {digest_of(a), digest_of(b)};
}

bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_SSE4_1) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

#endif

}  // namespace

TwoDigests sha256_pair(ByteView first, ByteView second) {
  ISOBIT_CHECK(first.size() == second.size());
#if defined(__x86_64__)
  static const bool at_once = has_sha_instructions();
  if (at_once) return pair_at_once(first, second);
#endif
  return {sha256(first), sha256(second)};
}

}  // namespace isobit::commit
