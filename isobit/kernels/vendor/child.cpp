#include "isobit/kernels/vendor/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "isobit/base/machine_cannot.h"
#include "isobit/base/text.h"

namespace isobit::kernels::vendor {
namespace {

constexpr uint64_t kHeader = 9;  // of an answer: its code and length

void write_all(int fd, ByteView data) {
  while (!data.empty()) {
    const ssize_t n = write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    data = data.subspan(static_cast<size_t>(n));
  }
}

Bytes encoded(const Expected<Bytes>& result) {
  ByteWriter out;
  out.u8(result ? 0 : static_cast<uint8_t>(result.error().code));
  result ? out.bytes(*result) : out.text(result.error().message);
  return out.take();
}

// What the work comes to. What it throws is a lack of this machine's, and would end the child without a word.
Bytes answer_of(const std::string& what, const std::function<Expected<Bytes>()>& work) {
  constexpr const char* kNoMemory = ": this machine has not enough memory for it";
  try {
    return encoded(work());
  } catch (const std::bad_alloc&) {
    return encoded(unavailable(what + kNoMemory));
  } catch (const std::length_error&) {
    return encoded(unavailable(what + kNoMemory));
  } catch (const MachineCannot& error) {
    return encoded(unavailable(text_of(what, ": ", error.what())));
  }
}

// Nothing is thrown out of it: what stands above on the stack is the parent's, and unwinding it would remove files and
// folders that the parent still uses.
[[noreturn]] void be_child(pid_t parent, int fd, const std::string& what,
                           const std::function<Expected<Bytes>()>& work) noexcept {
  // Without its parent it would run on. That one may have ended before this was asked for.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  // The parent's handlers (a sanitizer's, say) would turn the signal we want to see into something else.
  for (int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTRAP}) std::signal(signal, SIG_DFL);
  const rlimit no_core_file = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core_file);
  // What libraries print about core types they do not know is for our error to say.
  if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  try {
    std::thread([&]() noexcept { write_all(fd, answer_of(what, work)); }).join();
  } catch (const std::system_error& error) {
    write_all(fd, encoded(unavailable(text_of(what, ": cannot start a thread: ", error.code().message()))));
  }
  _exit(0);  // nothing of the parent's (buffers, exit handlers) is ours to flush or run
}

// Reads to the end, or past `most` bytes; or to the deadline: false.
bool read_until(int fd, std::chrono::steady_clock::time_point deadline, uint64_t most, Bytes& out) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting = {fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    uint8_t block[1 << 16];
    const ssize_t n = read(fd, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    out.insert(out.end(), block, block + n);
    if (out.size() > most) return true;
  }
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? text_of("SIG", name) : text_of("signal ", signal);
}

}  // namespace

Expected<Bytes> run_in_child(const std::string& what, const std::function<Expected<Bytes>()>& work, int limit_seconds,
                             uint64_t most_bytes) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return unavailable(text_of(what, ": no pipe: ", std::strerror(errno)));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    const int why = errno;
    close(ends[0]);
    close(ends[1]);
    return unavailable(text_of(what, ": no child process: ", std::strerror(why)));
  }
  if (pid == 0) be_child(parent, ends[1], what, work);
  close(ends[1]);
  Bytes received;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limit_seconds);
  const bool in_time = read_until(ends[0], deadline, most_bytes + kHeader, received);
  const bool too_long = received.size() > most_bytes + kHeader;
  if (too_long) kill(pid, SIGKILL);
  close(ends[0]);
  if (!in_time) kill(pid, SIGKILL);
  int state = 0;
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return unavailable(text_of(what, ": no result within ", limit_seconds, " s"));
  if (too_long) return unavailable(text_of(what, ": an answer of more than ", most_bytes, " bytes"));
  if (WIFSIGNALED(state)) return unavailable(text_of(what, ": ended by ", signal_name(WTERMSIG(state))));
  if (received.empty()) {
    return unavailable(text_of(what, ": ended without an answer, with exit code ", WEXITSTATUS(state)));
  }

  ByteReader reader(received, what + ", child's answer");
  ISOBIT_TRY(const uint8_t code, reader.u8("code"));
  if (code != 0) {
    ISOBIT_TRY(std::string message, reader.text("message", most_bytes));
    return tl::unexpected<Error>({static_cast<ErrorCode>(code), std::move(message)});
  }
  ISOBIT_TRY(const ByteView result, reader.bytes("result", most_bytes));
  return Bytes(result.begin(), result.end());
}

}  // namespace isobit::kernels::vendor
