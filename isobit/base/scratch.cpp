#include "isobit/base/scratch.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <vector>

#include "isobit/base/scratch_shelf.h"
#include "isobit/base/status.h"

namespace isobit::scratch {
namespace {

constexpr size_t kSmallest = 64;
constexpr size_t kPage = 4096;

// Sizes are powers of two, so that a block serves calls of nearly the same size.
size_t rounded(size_t bytes) { return bytes <= kSmallest ? kSmallest : std::bit_ceil(bytes); }

void* allocate(size_t alignment, size_t size) {
  void* block = std::aligned_alloc(alignment, size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

// Blocks by size; each holds the address of the next.
class Shelf {
 public:
  Shelf() = default;
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;
  ~Shelf() {
    for (void*& first : first_) {
      while (first != nullptr) std::free(removed(first));
    }
    for (const Growing& block : growing_) std::free(block.memory);
  }

  void* take(size_t size) {
    void*& first = of(size);
    return first != nullptr ? removed(first) : allocate(kSmallest, size);
  }
  void put(void* memory, size_t size) noexcept {
    void*& first = of(size);
    *static_cast<void**>(memory) = first;
    first = memory;
  }
  void* growing(int number, size_t bytes) {
    Growing& block = growing_[static_cast<size_t>(number)];
    if (bytes > block.size || block.memory == nullptr) {
      std::free(block.memory);
      block = {};
      const size_t size = (bytes + kPage - 1) / kPage * kPage;
      block.memory = allocate(kPage, size);
      block.size = size;
    }
    return block.memory;
  }

 private:
  struct Growing {
    void* memory = nullptr;
    size_t size = 0;
  };
  void*& of(size_t size) { return first_[static_cast<size_t>(std::countr_zero(size))]; }
  static void* removed(void*& first) {
    void* block = first;
    first = *static_cast<void**>(block);
    return block;
  }

  std::array<void*, 64> first_{};
  std::array<Growing, kGrowingBlocks> growing_{};
};

namespace {

// All that a thread keeps, until it ends.
struct Kept {
  Shelf own;
  std::vector<std::unique_ptr<Shelf>> of_parts;
  std::vector<Shelf*> pointers;  // to those
  ~Kept();
};

// What has no destructor stays when thread_local objects go, which they do in an order that nobody can rely on: a
// vector that goes after what was kept finds `over` and gives its memory back to the system.
struct State {
  Kept* kept = nullptr;
  Shelf* current = nullptr;  // null: the thread's own
  bool over = false;
};
thread_local constinit State state;

Kept::~Kept() { state = {nullptr, nullptr, true}; }

// Null once the thread is ending.
Kept* kept() {
  if (state.kept == nullptr && !state.over) {
    thread_local Kept all;
    state.kept = &all;
  }
  return state.kept;
}

Shelf* current_shelf() {
  if (state.current != nullptr) return state.current;
  Kept* all = kept();
  return all == nullptr ? nullptr : &all->own;
}

}  // namespace

void* take(size_t bytes) {
  const size_t size = rounded(bytes);
  Shelf* shelf = current_shelf();
  return shelf != nullptr ? shelf->take(size) : allocate(kSmallest, size);
}

void give_back(void* memory, size_t bytes) noexcept {
  Shelf* shelf = current_shelf();
  shelf != nullptr ? shelf->put(memory, rounded(bytes)) : std::free(memory);
}

std::span<Shelf* const> shelves_of_parts(size_t count) {
  Kept* all = kept();
  ISOBIT_CHECK(all != nullptr && state.current == nullptr);
  while (all->pointers.size() < count) {
    all->of_parts.push_back(std::make_unique<Shelf>());
    all->pointers.push_back(all->of_parts.back().get());
  }
  return {all->pointers.data(), count};
}

OnShelf::OnShelf(Shelf& shelf) : before_(state.current) { state.current = &shelf; }
OnShelf::~OnShelf() { state.current = before_; }

void* growing_block(int number, size_t bytes) {
  Shelf* shelf = current_shelf();
  ISOBIT_CHECK(shelf != nullptr && number >= 0 && number < kGrowingBlocks);
  return shelf->growing(number, bytes);
}

}  // namespace isobit::scratch
