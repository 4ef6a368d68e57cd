#include "isobit/base/scratch.h"

#include <array>
#include <bit>
#include <cstdlib>

namespace isobit::scratch {
namespace {

constexpr size_t kSmallest = 64;

// Sizes are powers of two, so that a block serves calls of nearly the same size.
size_t rounded(size_t bytes) { return bytes <= kSmallest ? kSmallest : std::bit_ceil(bytes); }

// The blocks that a thread keeps, by size; each holds the address of the next.
struct Kept {
  std::array<void*, 64> first{};

  void*& of(size_t size) { return first[static_cast<size_t>(std::countr_zero(size))]; }
  ~Kept() {
    for (void*& block : first) {
      while (block != nullptr) {
        void* next = *static_cast<void**>(block);
        std::free(block);
        block = next;
      }
    }
  }
};

Kept& kept() {
  thread_local Kept blocks;
  return blocks;
}

}  // namespace

void* take(size_t bytes) {
  const size_t size = rounded(bytes);
  void*& first = kept().of(size);
  if (first != nullptr) {
    void* block = first;
    first = *static_cast<void**>(block);
    return block;
  }
  void* block = std::aligned_alloc(kSmallest, size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give_back(void* memory, size_t bytes) noexcept {
  void*& first = kept().of(rounded(bytes));
  *static_cast<void**>(memory) = first;
  first = memory;
}

}  // namespace isobit::scratch
