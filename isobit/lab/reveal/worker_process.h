// A Python process that answers frames: a u64 with the length, then that many bytes, either way.
#pragma once

#include <memory>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/lab/worker/child_process.h"

namespace isobit::lab::reveal {

// Not thread-safe. The process is ended with the object.
class WorkerProcess {
 public:
  // Starts `python -c script`, python being a path or a name on PATH. Whatever it writes to its standard error is
  // dropped. kUnavailable: it cannot be started.
  static Expected<std::unique_ptr<WorkerProcess>> start(const std::string& python, const std::string& script);

  // Sends a frame and waits for the answer. kUnavailable: it ended, or did not answer within the time;
  // kUnreadable: an answer of more than most_bytes. After an error nothing more can be asked.
  Expected<Bytes> ask(ByteView frame, uint64_t most_bytes, int limit_seconds);

 private:
  WorkerProcess(std::string python, worker::ChildProcess process, Descriptor socket)
      : python_(std::move(python)), process_(std::move(process)), socket_(std::move(socket)) {}
  Status send_all(ByteView data);
  Status receive_all(uint8_t* to, uint64_t size, int64_t deadline_ms);

  const std::string python_;
  worker::ChildProcess process_;
  const Descriptor socket_;
};

}  // namespace isobit::lab::reveal
