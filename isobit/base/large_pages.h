// A hint to the system.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace isobit {

// Asks for pages of 2 MiB where the memory covers such pages whole and has not been written to. Never fails: a system
// that has none gives small ones.
inline void prefer_large_pages([[maybe_unused]] const void* memory, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kLarge = uintptr_t{2} << 20;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + kLarge - 1) / kLarge * kLarge;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kLarge * kLarge;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace isobit
