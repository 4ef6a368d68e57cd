// What a process writes, taken from it while it runs: however much that is, little of it is kept, and nothing on a
// disk.
#pragma once

#include <string>

#include "isobit/base/file.h"

namespace isobit::lab::worker {

// Not thread-safe.
class OutputPipe {
 public:
  // Keeps the last `most` bytes. kUnavailable when this machine has no pipe left.
  static Expected<OutputPipe> make(uint64_t most);

  int write_end() const { return write_.get(); }  // for the process that is started
  void close_write_end() { write_.close(); }      // once it has it
  // Takes what is there; never waits, nor goes on for long where somebody writes without end.
  void drain();
  const std::string& text() const { return text_; }
  bool has_lost() const { return lost_; }  // whether more was written than is kept

 private:
  OutputPipe(Descriptor read, Descriptor write, uint64_t most)
      : read_(std::move(read)), write_(std::move(write)), most_(most) {}

  Descriptor read_, write_;
  uint64_t most_;
  std::string text_;
  bool lost_ = false;
};

}  // namespace isobit::lab::worker
