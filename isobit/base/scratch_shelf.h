// Where the memory of scratch.h is kept. A thread has a shelf of its own, and one for each part of its parallel_for
// calls: part i of any call takes from shelf i, whichever thread runs it. So what a part finds there does not depend on
// which thread was free, and a step that is computed again finds everything, on any number of threads.
#pragma once

#include <cstddef>
#include <span>

namespace isobit::scratch {

class Shelf;

// The calling thread's shelves for parts 0 to count - 1. They stay until that thread ends, the span until it asks for
// more. REQUIRES that it is on no shelf of a part: parts have no parts.
std::span<Shelf* const> shelves_of_parts(size_t count);

// While it exists, the calling thread takes from and gives back to that shelf, which nobody else uses meanwhile.
class OnShelf {
 public:
  explicit OnShelf(Shelf& shelf);
  ~OnShelf();
  OnShelf(const OnShelf&) = delete;
  OnShelf& operator=(const OnShelf&) = delete;

 private:
  Shelf* before_;
};

// A block of at least `bytes`, aligned to a page, of the shelf that the calling thread uses now: the same at every call
// with this number, until a larger one is wanted. Its contents are lost then, and memory that runs out throws
// std::bad_alloc. REQUIRES 0 <= number < kGrowingBlocks.
inline constexpr int kGrowingBlocks = 3;
void* growing_block(int number, size_t bytes);

}  // namespace isobit::scratch
