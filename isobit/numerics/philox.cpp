#include "isobit/numerics/philox.h"

#include "isobit/base/status.h"
#include "isobit/numerics/functions_impl.h"

namespace isobit::numerics {
namespace {

constexpr int kPhiloxRounds = 10;
constexpr int kFeistelRounds = 8;

// One pair of words to two normals; the definition is in the header.
void normal_pair(uint32_t a, uint32_t b, float* even, float* odd) {
  const float u = static_cast<float>((a >> 8) + 1) * 0x1p-24f;
  const float radius = impl::cr_sqrt(-2.0f * impl::cr_log(u));
  const float angle = uniform_f32_of(b) * 0x1.921fb6p+2f;
  *even = radius * impl::cos_moderate(angle);
  *odd = radius * impl::sin_moderate(angle);
}

}  // namespace

PhiloxBlock philox4x32_10(PhiloxBlock c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c;
}

PhiloxBlock random_block(const Stream& stream, uint64_t block) {
  return philox4x32_10({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), stream.step,
                        static_cast<uint32_t>(stream.purpose)},
                       {static_cast<uint32_t>(stream.seed), static_cast<uint32_t>(stream.seed >> 32)});
}

uint32_t random_u32(const Stream& stream, uint64_t index) { return random_block(stream, index / 4)[index % 4]; }

uint64_t random_u64(const Stream& stream, uint64_t index) {
  const PhiloxBlock b = random_block(stream, index);
  return b[0] | uint64_t{b[1]} << 32;
}

float random_uniform_f32(const Stream& stream, uint64_t index) { return uniform_f32_of(random_u32(stream, index)); }

uint64_t random_below(const Stream& stream, uint64_t index, uint64_t n) {
  ISOBIT_CHECK(n >= 1);
  __extension__ typedef unsigned __int128 Wide;
  return static_cast<uint64_t>(static_cast<Wide>(random_u64(stream, index)) * n >> 64);
}

float random_normal_f32(const Stream& stream, uint64_t index) {
  const PhiloxBlock b = random_block(stream, index / 4);
  const size_t pair = index % 4 / 2 * 2;
  float even, odd;
  normal_pair(b[pair], b[pair + 1], &even, &odd);
  return index % 2 == 0 ? even : odd;
}

void fill_uniform_f32(const Stream& stream, uint64_t first, float* dst, int64_t n) {
  for (int64_t i = 0; i < n;) {
    const uint64_t index = first + static_cast<uint64_t>(i);
    const PhiloxBlock b = random_block(stream, index / 4);
    for (uint64_t word = index % 4; word < 4 && i < n; ++word, ++i) dst[i] = uniform_f32_of(b[word]);
  }
}

void fill_normal_f32(const Stream& stream, uint64_t first, float* dst, int64_t n) {
  for (int64_t i = 0; i < n;) {
    const uint64_t index = first + static_cast<uint64_t>(i);
    const PhiloxBlock b = random_block(stream, index / 4);
    float normals[4];
    normal_pair(b[0], b[1], normals, normals + 1);
    normal_pair(b[2], b[3], normals + 2, normals + 3);
    for (uint64_t word = index % 4; word < 4 && i < n; ++word, ++i) dst[i] = normals[word];
  }
}

uint64_t permute(const Stream& stream, uint64_t n, uint64_t index) {
  ISOBIT_CHECK(n >= 1 && n <= uint64_t{1} << 62 && index < n);
  int half = 0;
  while (uint64_t{1} << (2 * half) < n) ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t value = index;
  do {
    uint64_t left = value >> half;
    uint64_t right = value & mask;
    for (uint32_t round = 0; round < kFeistelRounds; ++round) {
      const uint64_t f = random_block(stream, uint64_t{round} << 32 | right)[0] & mask;
      const uint64_t next = left ^ f;
      left = right;
      right = next;
    }
    value = left << half | right;
  } while (value >= n);
  return value;
}

}  // namespace isobit::numerics
