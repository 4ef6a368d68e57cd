#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "isobit/log/sorted_set_internal.h"

namespace isobit::log::internal {
namespace {

std::vector<uint64_t> random_set(uint64_t seed, size_t count, uint64_t limit) {
  std::mt19937_64 random(seed);
  std::set<uint64_t> numbers;
  while (numbers.size() < count) numbers.insert(random() % limit);
  return {numbers.begin(), numbers.end()};
}

// The bits of the codes by their definition.
uint64_t cost(std::span<const uint64_t> sorted, unsigned rice) {
  uint64_t bits = 0, next = 0;
  for (uint64_t number : sorted) {
    bits += ((number - next) >> rice) + 1 + rice;
    next = number + 1;
  }
  return bits;
}

unsigned smallest_cheapest(std::span<const uint64_t> sorted) {
  unsigned best = 0;
  for (unsigned rice = 1; rice <= kMaxRice; ++rice) {
    if (cost(sorted, rice) < cost(sorted, best)) best = rice;
  }
  return best;
}

TEST(Bits, AreWrittenLowestFirst) {
  BitWriter writer;
  writer.unary(2);       // 001
  writer.bits(0b10, 2);  // 01
  writer.unary(9);       // 0000000001
  writer.bits(0x123456789abcdef0, 64);
  const Bytes bytes = writer.take();
  EXPECT_EQ(to_hex(ByteView(bytes).first(2)), "1440");
  BitReader reader(bytes);
  uint64_t zeros = 0;
  EXPECT_EQ(reader.unary(1, zeros), BitReader::Unary::kOverLimit);
  EXPECT_EQ(reader.unary(2, zeros), BitReader::Unary::kRead);
  EXPECT_EQ(zeros, 2u);
  EXPECT_EQ(reader.bits(2), 0b10u);
  EXPECT_EQ(reader.unary(100, zeros), BitReader::Unary::kRead);
  EXPECT_EQ(zeros, 9u);
  EXPECT_EQ(reader.bits(64), 0x123456789abcdef0u);
  EXPECT_EQ(reader.remaining(), 1u);
  EXPECT_EQ(reader.bits(2), std::nullopt);
  EXPECT_EQ(reader.unary(100, zeros), BitReader::Unary::kCut);
}

RC_GTEST_PROP(SortedSet, TheParameterIsTheSmallestOfTheCheapest, (std::set<uint32_t> numbers)) {
  const std::vector<uint64_t> sorted(numbers.begin(), numbers.end());
  RC_ASSERT(best_rice(sorted) == smallest_cheapest(sorted));
}

RC_GTEST_PROP(SortedSet, IsReadAsItWasWritten, (std::set<uint16_t> numbers, uint8_t more)) {
  const std::vector<uint64_t> sorted(numbers.begin(), numbers.end());
  const uint64_t limit = (sorted.empty() ? 0 : sorted.back() + 1) + more;
  BitWriter writer;
  const unsigned rice = best_rice(sorted);
  write_sorted(writer, sorted, rice);
  const Bytes bytes = writer.take();
  RC_ASSERT(bytes.size() == (cost(sorted, rice) + 7) / 8);
  BitReader reader(bytes);
  const ReadSet back = read_sorted(reader, sorted.size(), limit, rice);
  RC_ASSERT(back.fault == SetFault::kNone);
  RC_ASSERT(back.numbers == sorted);
  RC_ASSERT(reader.zero_padding());
  RC_ASSERT(reader.remaining() == 0u);
}

TEST(SortedSet, TakesNearTheEntropyOfARandomSet) {
  for (const uint64_t limit : {uint64_t{1000000}, uint64_t{37000000}, uint64_t{1000000000}}) {
    const auto sorted = random_set(limit, 10000, limit);
    const double bits = static_cast<double>(cost(sorted, best_rice(sorted))) / 10000;
    const double per_number = static_cast<double>(limit) / 10000;
    EXPECT_LT(bits, std::log2(per_number) + 1.52) << limit;
    EXPECT_GT(bits, std::log2(per_number) + 1.40) << limit;
  }
}

TEST(SortedSet, LargestNumbers) {
  const std::vector<uint64_t> sorted{0, kMaxLimit - 1};
  BitWriter writer;
  const unsigned rice = best_rice(sorted);
  write_sorted(writer, sorted, rice);
  const Bytes bytes = writer.take();
  BitReader reader(bytes);
  EXPECT_EQ(read_sorted(reader, 2, kMaxLimit, rice).numbers, sorted);
  BitReader again(bytes);
  EXPECT_EQ(read_sorted(again, 2, kMaxLimit - 1, rice).fault, SetFault::kOutOfRange);
}

TEST(SortedSet, FaultsAreTold) {
  const std::vector<uint64_t> sorted{3, 4, 900};
  const unsigned best = best_rice(sorted);
  for (unsigned rice = 0; rice <= kMaxRice; ++rice) {
    BitWriter writer;
    write_sorted(writer, sorted, rice);
    const Bytes bytes = writer.take();
    BitReader reader(bytes), low(bytes), cut(ByteView(bytes).first(bytes.size() - 1));
    const ReadSet back = read_sorted(reader, 3, 901, rice);
    EXPECT_EQ(back.fault, rice == best ? SetFault::kNone : SetFault::kNotBest) << rice;
    EXPECT_EQ(back.numbers, sorted);
    const ReadSet out = read_sorted(low, 3, 900, rice);
    EXPECT_EQ(out.fault, SetFault::kOutOfRange) << rice;
    EXPECT_EQ(out.numbers.size(), 2u);
    EXPECT_EQ(read_sorted(cut, 3, 901, rice).fault, SetFault::kCut) << rice;
  }
  BitReader none{ByteView()};
  EXPECT_EQ(read_sorted(none, uint64_t{1} << 60, kMaxLimit, 0).fault, SetFault::kCut);
  const Bytes ones{0xff};
  BitReader full(ones);  // numbers 0 and 1 leave no room for a third below 2
  EXPECT_EQ(read_sorted(full, 2, 2, 0).fault, SetFault::kNone);
  EXPECT_FALSE(full.zero_padding());
}

}  // namespace
}  // namespace isobit::log::internal
