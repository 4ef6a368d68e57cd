// Another program, run in a process of its own: a Python with an engine, or this program on another platform.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isobit/base/status.h"

namespace isobit::lab::worker {

struct ProgramCall {
  std::vector<std::string> words;                  // the program, a path or a name on PATH, and its arguments
  std::map<std::string, std::string> environment;  // besides ours
  int in = -1, out = -1, error = -1;               // descriptors, not owned; -1: /dev/null
  // Programs that it starts belong to it and end with it; but then Ctrl-C does not reach it by itself.
  bool own_group = false;
  uint64_t most_file_bytes = UINT64_MAX;  // of each file that it writes: it is ended at the first byte beyond
};

struct Ending {
  enum class How { kExited, kSignalled, kOverTime, kStopped };
  How how = How::kExited;
  int code = 0;  // exit status, or number of the signal
};

// Not thread-safe. The process is ended with the object, and at the latest with the thread that started it, also where
// this program is killed (but not what it has started then).
class ChildProcess {
 public:
  // kUnavailable: it cannot be started. The message starts with the program's name.
  static Expected<ChildProcess> start(const ProgramCall& call);
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)), own_group_(other.own_group_) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() { end(); }

  // Until it ends by itself, the time is over or stopped() (asked now and then; null: never); in the latter cases it is
  // ended.
  Ending wait(double limit_seconds, const std::function<bool()>& stopped = nullptr);
  // At once. Nothing where it has ended.
  void end();

 private:
  ChildProcess(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}
  pid_t pid_;  // 0: none any more
  bool own_group_;
};

}  // namespace isobit::lab::worker
