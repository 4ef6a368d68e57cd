// A Python process that answers frames: a u64 with the length, then that many bytes, either way.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/lab/worker/child_process.h"

namespace isobit::lab::reveal {

// How long an engine is waited for, in all.
struct Patience {
  // From now on.
  static Patience of(double seconds, const std::atomic<bool>* stop = nullptr);

  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;  // set: give up at once
};

// Not thread-safe. The process is ended with the object.
class WorkerProcess {
 public:
  // Starts `python -c script`, python being a path or a name on PATH. Whatever it writes to its standard error is
  // dropped. kUnavailable: it cannot be started.
  static Expected<std::unique_ptr<WorkerProcess>> start(const std::string& python, const std::string& script,
                                                        const Patience& patience = {});

  // Sends a frame and waits for the answer. kUnavailable: it ended, did not take the frame or answer it within the
  // time, or patience is over; kUnreadable: an answer of more than most_bytes. After an error nothing more can be
  // asked.
  Expected<Bytes> ask(ByteView frame, uint64_t most_bytes, int limit_seconds);

 private:
  using Time = std::chrono::steady_clock::time_point;
  WorkerProcess(std::string python, worker::ChildProcess process, Descriptor socket, const Patience& patience)
      : python_(std::move(python)), process_(std::move(process)), socket_(std::move(socket)), patience_(patience) {}
  // Until the socket is ready for that.
  Status wait_for(short events, Time deadline);
  Status send_all(ByteView data, Time deadline);
  Status receive_all(uint8_t* to, uint64_t size, Time deadline);

  const std::string python_;
  worker::ChildProcess process_;
  const Descriptor socket_;
  const Patience patience_;
};

}  // namespace isobit::lab::reveal
