#include "isobit/base/scratch.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "isobit/base/scratch_shelf.h"
#include "isobit/base/spare_memory.h"
#include "isobit/base/status.h"

namespace isobit::scratch {
namespace {

constexpr size_t kSmallest = 64;
constexpr size_t kPage = 4096;

// Sizes are powers of two, so that a block serves calls of nearly the same size.
size_t rounded(size_t bytes) { return bytes <= kSmallest ? kSmallest : std::bit_ceil(bytes); }

std::atomic<size_t> limit = kNoLimit, held = 0;

// Null where that is too much.
void* try_allocate(size_t alignment, size_t size) {
  const size_t before = held.fetch_add(size, std::memory_order_relaxed), most = limit.load(std::memory_order_relaxed);
  void* block = size > most || before > most - size ? nullptr : std::aligned_alloc(alignment, size);
  if (block == nullptr) held.fetch_sub(size, std::memory_order_relaxed);
  return block;
}

void release(void* block, size_t size) {
  if (block == nullptr) return;
  std::free(block);
  held.fetch_sub(size, std::memory_order_relaxed);
}

}  // namespace

// Blocks by size; each holds the address of the next.
class Shelf {
 public:
  Shelf() = default;
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;
  ~Shelf() {
    free_kept();
    free_growing();
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
      release(block.memory, block.size);
      block = {};
      const size_t size = (bytes + kPage - 1) / kPage * kPage;
      block.memory = allocate(kPage, size);
      block.size = size;
    }
    return block.memory;
  }
  // REQUIRES that nobody uses a growing block of it.
  void free_growing() {
    for (Growing& block : growing_) {
      release(block.memory, block.size);
      block = {};
    }
  }
  void free_kept() {
    for (size_t i = 0; i < first_.size(); ++i) {
      while (first_[i] != nullptr) release(removed(first_[i]), size_t{1} << i);
    }
  }

 private:
  struct Growing {
    void* memory = nullptr;
    size_t size = 0;
  };
  void* allocate(size_t alignment, size_t size) {
    void* block = try_allocate(alignment, size);
    if (block != nullptr) return block;
    free_kept();
    block = try_allocate(alignment, size);
    if (block == nullptr && give_up_spares()) block = try_allocate(alignment, size);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
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
  if (Shelf* shelf = current_shelf()) return shelf->take(size);
  void* block = try_allocate(kSmallest, size);
  if (block == nullptr && give_up_spares()) block = try_allocate(kSmallest, size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give_back(void* memory, size_t bytes) noexcept {
  Shelf* shelf = current_shelf();
  shelf != nullptr ? shelf->put(memory, rounded(bytes)) : release(memory, rounded(bytes));
}

size_t held_bytes() { return held.load(std::memory_order_relaxed); }

size_t set_limit(size_t bytes) { return limit.exchange(bytes, std::memory_order_relaxed); }

void trim() {
  give_up_spares();
  Kept* all = kept();
  if (all == nullptr) return;
  all->own.free_kept();
  all->own.free_growing();
  for (Shelf* shelf : all->pointers) {
    shelf->free_kept();
    shelf->free_growing();
  }
}

namespace {

// Those of the process that have memory. Never destroyed: what is in it may go after any other object.
struct Spares {
  std::mutex mutex;
  std::vector<Spare*> all;
};
Spares& spares() {
  static auto* const one = new Spares;
  return *one;
}

}  // namespace

void Spare::release_memory() {
  release(memory_, bytes_);
  memory_ = nullptr;
  bytes_ = 0;
}

void* Spare::take(size_t bytes) {
  const std::scoped_lock lock(spares().mutex);
  ISOBIT_CHECK(!in_use_ && memory_ == nullptr);
  if (bytes > static_cast<size_t>(-1) / 2) return nullptr;
  const size_t size = (bytes + kSmallest - 1) / kSmallest * kSmallest;
  std::vector<Spare*>& all = spares().all;
  all.push_back(this);  // before there is memory to lose
  memory_ = try_allocate(kSmallest, size);
  if (memory_ == nullptr) {
    all.pop_back();
    return nullptr;
  }
  bytes_ = size;
  in_use_ = true;
  return memory_;
}

void* Spare::use() {
  const std::scoped_lock lock(spares().mutex);
  in_use_ = memory_ != nullptr;
  return memory_;
}

void Spare::leave() {
  const std::scoped_lock lock(spares().mutex);
  in_use_ = false;
}

void Spare::give_back() {
  const std::scoped_lock lock(spares().mutex);
  in_use_ = false;
  if (memory_ == nullptr) return;
  std::erase(spares().all, this);
  release_memory();
}

size_t Spare::bytes() const {
  const std::scoped_lock lock(spares().mutex);
  return bytes_;
}

bool give_up_spares() {
  const std::scoped_lock lock(spares().mutex);
  return std::erase_if(spares().all, [](Spare* spare) {
           if (spare->in_use_) return false;
           spare->release_memory();
           return true;
         }) > 0;
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
