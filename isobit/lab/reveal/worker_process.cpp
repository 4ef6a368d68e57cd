#include "isobit/lab/reveal/worker_process.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit::lab::reveal {

namespace {

int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

Expected<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& python, const std::string& script) {
  // A socket and not two pipes: writing to it when the process has ended is an error and no signal.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return unavailable(text_of("Python '", python, "': no socket: ", std::strerror(errno)));
  }
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  auto process = worker::ChildProcess::start({{python, "-c", script}, {}, theirs.get(), theirs.get(), -1, false});
  if (!process) {
    return unavailable(text_of("Python ", process.error().message,
                               "; name another interpreter with --python or the variable ISOBIT_PYTHON"));
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(python, *std::move(process), std::move(ours)));
}

Status WorkerProcess::send_all(ByteView data) {
  while (!data.empty()) {
    const ssize_t n = send(socket_.get(), data.data(), data.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return unavailable(text_of("Python '", python_, "': the worker ended"));
    data = data.subspan(static_cast<size_t>(n));
  }
  return {};
}

Status WorkerProcess::receive_all(uint8_t* to, uint64_t size, int64_t deadline_ms) {
  while (size > 0) {
    const int64_t left = deadline_ms - now_ms();
    if (left <= 0) return unavailable(text_of("Python '", python_, "': no answer in time"));
    pollfd waiting = {socket_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) continue;
    const ssize_t n = recv(socket_.get(), to, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return unavailable(text_of("Python '", python_, "': the worker ended without an answer"));
    to += n;
    size -= static_cast<uint64_t>(n);
  }
  return {};
}

Expected<Bytes> WorkerProcess::ask(ByteView frame, uint64_t most_bytes, int limit_seconds) {
  const int64_t deadline = now_ms() + int64_t{1000} * limit_seconds;
  ByteWriter length;
  length.u64(frame.size());
  ISOBIT_RETURN_IF_ERROR(send_all(length.view()));
  ISOBIT_RETURN_IF_ERROR(send_all(frame));
  uint64_t size = 0;
  ISOBIT_RETURN_IF_ERROR(receive_all(reinterpret_cast<uint8_t*>(&size), sizeof size, deadline));
  if (size > most_bytes) {
    return unreadable(text_of("answer of Python '", python_, "': ", size, " bytes, expected at most ", most_bytes));
  }
  Bytes answer(size);
  ISOBIT_RETURN_IF_ERROR(receive_all(answer.data(), size, deadline));
  return answer;
}

}  // namespace isobit::lab::reveal
