// Preloaded into the program by tests that kill it or send it a signal: the process stops itself right after the N-th
// write to a file, so that where the signal finds it is a matter of that number and never of time.
//
// ISOBIT_TEST_STOP_AT=transcript:4    the fourth write to a file of that name, or to its temporary (transcript.*)
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct StopAt {
  std::string name;
  long writes = 0;  // to come, the last of which stops the process

  StopAt() {
    const char* asked = std::getenv("ISOBIT_TEST_STOP_AT");
    const char* colon = asked == nullptr ? nullptr : std::strrchr(asked, ':');
    if (colon == nullptr) return;
    name.assign(asked, colon);
    writes = std::atol(colon + 1);
  }
};

void written_to(int fd) {
  static StopAt stop;
  if (stop.writes == 0) return;
  char path[4096];
  const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  if (n < 0) return;
  const std::string file(path, static_cast<size_t>(n));
  const std::string base = file.substr(file.rfind('/') + 1);
  if ((base == stop.name || base.starts_with(stop.name + '.')) && --stop.writes == 0) ::kill(::getpid(), SIGSTOP);
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t write(int fd, const void* data, size_t n) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  const ssize_t done = real(fd, data, n);
  written_to(fd);
  return done;
}

extern "C" ssize_t pwrite(int fd, const void* data, size_t n, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const ssize_t done = real(fd, data, n, offset);
  written_to(fd);
  return done;
}

extern "C" ssize_t pwrite64(int fd, const void* data, size_t n, off64_t offset) {  // as SQLite does
  static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  const ssize_t done = real(fd, data, n, offset);
  written_to(fd);
  return done;
}
