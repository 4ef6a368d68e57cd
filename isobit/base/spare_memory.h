// Memory that its owner can do without. It counts as scratch (scratch.h) and stands behind it: it takes nothing from
// what threads keep, and goes back to the system as soon as somebody finds no scratch, or trims it.
#pragma once

#include <cstddef>

namespace isobit::scratch {

// One block, of one owner. Its calls may come from any thread, one at a time; that it goes may be any thread's doing,
// but never while it is in use.
class Spare {
 public:
  Spare() = default;
  ~Spare() { give_back(); }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;

  // `bytes` of memory, aligned to 64 and in use; null where the limit or the system leaves none. REQUIRES that nothing
  // is held.
  void* take(size_t bytes);
  // What was taken, in use from now on; null where nothing was, or where it has gone.
  void* use();
  // It may go from now on.
  void leave();
  void give_back();
  size_t bytes() const;  // that are held

 private:
  friend bool give_up_spares();
  void release_memory();

  void* memory_ = nullptr;
  size_t bytes_ = 0;
  bool in_use_ = false;
};

// Gives back what nobody uses; whether that was anything.
bool give_up_spares();

}  // namespace isobit::scratch
