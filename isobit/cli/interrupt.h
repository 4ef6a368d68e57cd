// SIGINT and SIGTERM as a flag, for commands that clean up or leave something to continue.
#pragma once

#include <atomic>

namespace isobit::cli {

// While it lives the first of those signals only sets stop(). A second one ends the process at once, unless it is to be
// held back for good. One at a time.
class Interruptible {
 public:
  enum class Second { kEnds, kIgnored };
  explicit Interruptible(Second second = Second::kEnds);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  const std::atomic<bool>& stop() const;
};

}  // namespace isobit::cli
