// Somebody who answers questions, in a process of its own: what is asked and answered are bytes, so that neither side
// sees anything of the other, and what each takes of the machine can be told apart.
#pragma once

#include <sys/types.h>

#include <functional>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::cli {

class OtherSide {
 public:
  using Answer = std::function<Expected<Bytes>(ByteView question)>;
  // open: makes, over there, what answers; its error is the answer to everything. REQUIRES a process without other
  // threads. kUnavailable: this machine has no more processes.
  static Expected<OtherSide> start(const std::function<Expected<Answer>()>& open);
  OtherSide(OtherSide&& other) noexcept;
  OtherSide& operator=(OtherSide&&) = delete;
  ~OtherSide();

  // kUnavailable: it has ended. Else its own errors.
  Expected<Bytes> ask(const Bytes& question);
  // Ends it, and says how much memory it had at most, in bytes.
  uint64_t end();

 private:
  OtherSide(pid_t process, int socket) : process_(process), socket_(socket) {}
  pid_t process_;
  int socket_;
};

// The most memory that this process has had so far, in bytes.
uint64_t peak_memory();

}  // namespace isobit::cli
