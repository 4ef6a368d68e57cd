#include "isobit/cli/other_side.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "isobit/base/text.h"

namespace isobit::cli {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

bool read_all(int socket, uint8_t* to, size_t size) {
  while (size > 0) {
    const ssize_t got = read(socket, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int socket, const uint8_t* from, size_t size) {
  while (size > 0) {
    const ssize_t put = write(socket, from, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from += put;
    size -= static_cast<size_t>(put);
  }
  return true;
}

bool send(int socket, ByteView bytes) {
  const uint64_t size = bytes.size();
  uint8_t head[sizeof size];
  std::memcpy(head, &size, sizeof size);
  return write_all(socket, head, sizeof head) && write_all(socket, bytes.data(), bytes.size());
}

bool receive(int socket, Bytes& bytes) {
  uint8_t head[sizeof(uint64_t)];
  uint64_t size = 0;
  if (!read_all(socket, head, sizeof head)) return false;
  std::memcpy(&size, head, sizeof size);
  if (size > kMostBytes) return false;
  bytes.resize(size);
  return read_all(socket, bytes.data(), bytes.size());
}

// u8 1 and the answer, or u8 0, the error's code and its message.
Bytes packed(const Expected<Bytes>& answer) {
  ByteWriter w;
  w.boolean(answer.has_value());
  if (answer) {
    w.bytes(*answer);
  } else {
    w.u8(static_cast<uint8_t>(answer.error().code));
    w.text(answer.error().message);
  }
  return w.take();
}

Expected<Bytes> unpacked(ByteView bytes) {
  ByteReader r(bytes, "answer of the other process");
  ISOBIT_TRY(const bool is_answer, r.boolean("answer"));
  if (is_answer) {
    ISOBIT_TRY(const ByteView answer, r.bytes("answer", r.remaining()));
    return Bytes(answer.begin(), answer.end());
  }
  ISOBIT_TRY(const uint8_t code, r.u8("code"));
  ISOBIT_TRY(std::string message, r.text("message", r.remaining()));
  return tl::unexpected<Error>(Error{static_cast<ErrorCode>(code), std::move(message)});
}

[[noreturn]] void serve(int socket, const std::function<Expected<OtherSide::Answer>()>& open) {
  const auto answer = open();
  Bytes question;
  while (receive(socket, question)) {
    const Expected<Bytes> said = answer ? (*answer)(question) : Expected<Bytes>(tl::unexpected<Error>(answer.error()));
    if (!send(socket, packed(said))) break;
  }
  _exit(0);
}

}  // namespace

Expected<OtherSide> OtherSide::start(const std::function<Expected<Answer>()>& open) {
  int ends[2];
  const auto failed = [] { return unavailable(text_of("no other process can be started: ", std::strerror(errno))); };
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed();
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) {
    const auto error = failed();
    close(ends[0]);
    close(ends[1]);
    return error;
  }
  if (process > 0) {
    close(ends[1]);
    return OtherSide(process, ends[0]);
  }
  close(ends[0]);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  serve(ends[1], open);
}

OtherSide::OtherSide(OtherSide&& other) noexcept
    : process_(std::exchange(other.process_, 0)), socket_(std::exchange(other.socket_, -1)) {}

OtherSide::~OtherSide() { end(); }

Expected<Bytes> OtherSide::ask(const Bytes& question) {
  Bytes answer;
  if (!send(socket_, question) || !receive(socket_, answer)) return unavailable("the process that answers has ended");
  return unpacked(answer);
}

uint64_t OtherSide::end() {
  if (process_ == 0) return 0;
  close(socket_);
  rusage used{};
  int status = 0;
  while (wait4(process_, &status, 0, &used) < 0 && errno == EINTR) {
  }
  process_ = 0;
  return static_cast<uint64_t>(used.ru_maxrss) << 10;
}

uint64_t peak_memory() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<uint64_t>(used.ru_maxrss) << 10;
}

}  // namespace isobit::cli
