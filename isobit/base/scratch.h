// Memory for what a function needs while it runs, kept for the next call instead of going back to the system: a step
// that is computed again and again allocates nothing. It is kept until the thread ends (scratch_shelf.h says where).
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace isobit {

namespace scratch {

// `bytes` of memory, aligned to 64, from what is kept, else new. Throws std::bad_alloc.
void* take(size_t bytes);
// What take(bytes) gave, on any thread: it is kept here. Memory that always goes from one thread to another piles up
// there. Whatever is destroyed while the thread ends gives its memory back to the system.
void give_back(void* memory, size_t bytes) noexcept;

// What all threads together have from the system for this, in use or kept.
size_t held_bytes();
// Whoever would make it more than `bytes` in all gets std::bad_alloc, after what the calling thread's shelf keeps has
// gone back to the system. For the process; there is no limit until one is set. Returns the one before.
inline constexpr size_t kNoLimit = static_cast<size_t>(-1);
size_t set_limit(size_t bytes);
// Gives back to the system what the calling thread and its parts keep and nobody uses, and what is spare
// (spare_memory.h). REQUIRES that none of its parallel_for calls is going on.
void trim();

}  // namespace scratch

template <class T>
struct ScratchAllocator {
  using value_type = T;
  ScratchAllocator() = default;
  template <class U>
  ScratchAllocator(const ScratchAllocator<U>&) {}  // NOLINT: what the standard asks of an allocator
  T* allocate(size_t n) {
    if (n > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(scratch::take(n * sizeof(T)));
  }
  void deallocate(T* p, size_t n) noexcept { scratch::give_back(p, n * sizeof(T)); }
  friend bool operator==(const ScratchAllocator&, const ScratchAllocator&) { return true; }
};

// A vector of such memory. For what lives within one call, or with the thread.
template <class T>
using ScratchVector = std::vector<T, ScratchAllocator<T>>;

}  // namespace isobit
