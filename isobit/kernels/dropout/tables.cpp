// The family as loops over vectors of counters; compiled once for every instruction set.
#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/dropout/wide_product.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::dropouts {
namespace {

using elementwise::tidy;

constexpr int64_t kBlocks = 64;  // a batch: 256 elements
constexpr int64_t kLanes = sizeof(V) / sizeof(uint64_t);
constexpr int64_t kChains = 2;  // counters worked on side by side: a round waits for its multiplications

typedef uint32_t Word __attribute__((may_alias));

// One block a lane. A word is the low half of its lane; the high half is whatever was left there.
struct Counter {
  V x0, x1, x2, x3;
};

// Salmon et al. 2011, as numerics/philox.h.
ISOBIT_INLINE Counter philox_round(Counter c, V k0, V k1) {
  const V p0 = wide_product(c.x0, V{} + uint64_t{0xd2511f53u});
  const V p1 = wide_product(c.x2, V{} + uint64_t{0xcd9e8d57u});
  return {(p1 >> 32) ^ c.x1 ^ k0, p1, (p0 >> 32) ^ c.x3 ^ k1, p0};
}

// words[4 * l + w] = word w of block first + l, for kBlocks blocks; two words an element of `words`.
ISOBIT_INLINE void random_words(uint64_t seed, uint32_t step, uint64_t first, uint64_t* words) {
  constexpr uint32_t kW0 = 0x9e3779b9u, kW1 = 0xbb67ae85u;
  constexpr uint64_t kPurpose = 5, kLow = 0xffffffffu;
  alignas(64) uint64_t front[kBlocks], back[kBlocks];
  for (int64_t l = 0; l < kBlocks; l += kChains * kLanes) {
    Counter c[kChains];
    for (int64_t j = 0; j < kChains; ++j) {
      V block;
      for (int64_t i = 0; i < kLanes; ++i) block[i] = first + static_cast<uint64_t>(l + j * kLanes + i);
      c[j] = {block, block >> 32, V{} + step, V{} + kPurpose};
    }
    auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round, k0 += kW0, k1 += kW1) {
      const V key0 = V{} + k0, key1 = V{} + k1;
      for (int64_t j = 0; j < kChains; ++j) c[j] = philox_round(c[j], key0, key1);
    }
    for (int64_t j = 0; j < kChains; ++j) {
      const V a = (c[j].x0 & kLow) | c[j].x1 << 32, b = (c[j].x2 & kLow) | c[j].x3 << 32;
      __builtin_memcpy(front + l + j * kLanes, &a, sizeof a);
      __builtin_memcpy(back + l + j * kLanes, &b, sizeof b);
    }
  }
  for (int64_t l = 0; l < kBlocks; ++l) {
    words[2 * l] = front[l];
    words[2 * l + 1] = back[l];
  }
}

template <class T>
void drop(const Rule<T>& rule, int64_t begin, int64_t end, const T* src, T* dst) {
  alignas(64) uint64_t words[2 * kBlocks];
  const uint32_t threshold = rule.threshold;
  const T scale = rule.scale;
  while (begin < end) {
    const int64_t number = rule.first + begin, block = number / 4;
    random_words(rule.seed, rule.step, rule.first_block + static_cast<uint64_t>(block), words);
    const int64_t batch_end = 4 * (block + kBlocks) - rule.first;
    const int64_t stop = batch_end < end ? batch_end : end;
    const Word* bits = reinterpret_cast<const Word*>(words) + number % 4;
    const T* from = src + begin;
    T* to = dst + begin;
    const int64_t n = stop - begin;
    ISOBIT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T kept = tidy(from[i] * scale);
      to[i] = bits[i] >= threshold ? kept : T(0);
    }
    begin = stop;
  }
}

template <class T>
constexpr Table<T> kTable{drop<T>};

}  // namespace

ISOBIT_FOR_FLOATS(ISOBIT_DEFINE_TABLE, ISOBIT_ISA)

}  // namespace isobit::kernels::dropouts
