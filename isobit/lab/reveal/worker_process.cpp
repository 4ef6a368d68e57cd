#include "isobit/lab/reveal/worker_process.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit::lab::reveal {

using std::chrono::steady_clock;

Patience Patience::of(double seconds, const std::atomic<bool>* stop) {
  const std::chrono::duration<double> time(std::min(seconds, 1e9));  // so that no sum of times overflows
  return {steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(time), stop};
}

Expected<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& python, const std::string& script,
                                                              const Patience& patience) {
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
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(python, *std::move(process), std::move(ours), patience));
}

Status WorkerProcess::wait_for(short events, Time deadline) {
  constexpr int kLookAtStopMs = 50;
  for (;;) {
    if (patience_.stop != nullptr && patience_.stop->load()) return unavailable("stopped");
    const Time now = steady_clock::now();
    if (now >= patience_.until) return unavailable(text_of("Python '", python_, "': over its time (--max-seconds)"));
    if (now >= deadline) return unavailable(text_of("Python '", python_, "': no answer in time"));
    pollfd waiting = {socket_.get(), events, 0};
    if (poll(&waiting, 1, kLookAtStopMs) > 0) return {};
  }
}

Status WorkerProcess::send_all(ByteView data, Time deadline) {
  while (!data.empty()) {
    ISOBIT_RETURN_IF_ERROR(wait_for(POLLOUT, deadline));
    const ssize_t n = send(socket_.get(), data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return unavailable(text_of("Python '", python_, "': the worker ended"));
    data = data.subspan(static_cast<size_t>(n));
  }
  return {};
}

Status WorkerProcess::receive_all(uint8_t* to, uint64_t size, Time deadline) {
  while (size > 0) {
    ISOBIT_RETURN_IF_ERROR(wait_for(POLLIN, deadline));
    const ssize_t n = recv(socket_.get(), to, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return unavailable(text_of("Python '", python_, "': the worker ended without an answer"));
    to += n;
    size -= static_cast<uint64_t>(n);
  }
  return {};
}

Expected<Bytes> WorkerProcess::ask(ByteView frame, uint64_t most_bytes, int limit_seconds) {
  const Time deadline = steady_clock::now() + std::chrono::seconds(limit_seconds);
  ByteWriter length;
  length.u64(frame.size());
  ISOBIT_RETURN_IF_ERROR(send_all(length.view(), deadline));
  ISOBIT_RETURN_IF_ERROR(send_all(frame, deadline));
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
