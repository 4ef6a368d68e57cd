// How much of this machine a command may take: the options --max-memory, --recompute and --max-time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "isobit/cli/command.h"
#include "isobit/run/job_size.h"

namespace isobit::cli {

struct LimitOptions {
  std::string max_memory;
  std::string recompute = "none";
  std::optional<uint64_t> max_seconds;
};

void add_memory_option(Command& command, LimitOptions& options);
// Of commands that take training steps.
void add_recompute_option(Command& command, LimitOptions& options);
// kUsage if it is given: "COMMAND: --recompute goes with a run ...".
Status refuse_recompute(const std::string& command, const LimitOptions& options);
void add_time_option(Command& command, LimitOptions& options);

// What an option says: a number of bytes, "512M" or "2G" (powers of 1024). kUsage for anything else, and for 0.
Expected<uint64_t> byte_count(const std::string& option, const std::string& text);

// --max-memory as such a number of bytes; else three quarters of what the machine, or the control group that the
// process is in, has. And --recompute. kUsage for anything else.
Expected<run::Limits> limits_of(const LimitOptions& options);

// From its making until finish(): ends the process with exit code 4 and the verdict "inconclusive" when --max-time has
// passed, whatever the process is doing. 0 seconds have passed at once. For commands that only read; what they write is
// written in one step each. MachineCannot when the thread that keeps the time cannot be started.
class Deadline {
 public:
  // standing: how far it has come by then, for the reason; called from another thread.
  Deadline(const LimitOptions& options, Console& console, std::function<std::string()> standing = nullptr);
  ~Deadline() { finish(); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  // The result is there: from here on time is no matter.
  void finish();

 private:
  void wait(uint64_t seconds);
  [[noreturn]] void end(uint64_t seconds);

  Console& console_;
  const std::function<std::string()> standing_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool started_ = false, finished_ = false;
  std::thread watch_;  // none without a limit
};

}  // namespace isobit::cli
