// How much of a product is laid out at a time. Internal to the driver (gemm.cpp): found by measurement, free to change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isobit::kernels::gemm {

// Sizes of the packed blocks, kc x nc on the right and mc x kc on the left, so that both stay in a second-level cache;
// kc is a chunk.
inline constexpr int64_t kRightBytes = 1 << 20, kLeftBytes = 256 << 10;
// The right one where a chunk of a thread's rows takes kFewLeftBytes or less, and its fewest columns then: rows that
// are not kept are packed again for each block.
inline constexpr int64_t kFewLeftBytes = 192 << 10, kFewRightBytes = 256 << 10, kFewColumns = 256;
inline constexpr int64_t kTotalRows = 2048;  // bounds the running totals kept per thread
inline constexpr int64_t kSerialWork = 1 << 15;
// Elements of a page: rows as long as that lie in a page each.
template <class T>
inline constexpr int64_t kPage = 4096 / static_cast<int64_t>(sizeof(T));
// An operand whose panels are used this often or less is read in place where its layout allows; one of more such rows
// than this only if they are used once.
inline constexpr int64_t kDirectPanels = 4, kFewPages = 64;
// Rows read in place: few enough that their pages are still at hand in the next chunk.
inline constexpr int64_t kDirectRows = 384;
// Of panels of columns that one panel of rows meets before the next one.
inline constexpr int64_t kTogetherBytes = 128 << 10;
inline constexpr size_t kMostShared = 4 << 20;  // bytes of panels that a thread keeps for several batch entries

}  // namespace isobit::kernels::gemm
