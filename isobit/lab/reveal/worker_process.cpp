#include "isobit/lab/reveal/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "isobit/base/text.h"

extern char** environ;

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
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = python, option = "-c", code = script;
  char* arguments[] = {program.data(), option.data(), code.data(), nullptr};
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    return unavailable(text_of("Python '", python, "': cannot be started: ", std::strerror(failed),
                               "; name another interpreter with --python or the variable ISOBIT_PYTHON"));
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(python, pid, ends[0]));
}

WorkerProcess::~WorkerProcess() {
  close(socket_);
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status WorkerProcess::send_all(ByteView data) {
  while (!data.empty()) {
    const ssize_t n = send(socket_, data.data(), data.size(), MSG_NOSIGNAL);
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
    pollfd waiting = {socket_, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) continue;
    const ssize_t n = recv(socket_, to, size, 0);
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
