#include "isobit/bundle/kill_points_for_test.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "isobit/base/status.h"

namespace isobit::bundle::testing {
namespace {

uint64_t calls_left = UINT64_MAX;  // in a child: until the fatal one
Reach fatal_reach = Reach::kNotBegun;

bool is_fatal() { return calls_left-- == 0; }

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

}  // namespace

Ended run_until_call(uint64_t call, Reach reach, const std::function<bool()>& work) {
  const pid_t child = ::fork();
  ISOBIT_CHECK(child >= 0);
  if (child == 0) {
    calls_left = call;
    fatal_reach = reach;
    ::_exit(work() ? 0 : 1);
  }
  int how = 0;
  ISOBIT_CHECK(::waitpid(child, &how, 0) == child);
  if (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) return Ended::kKilled;
  ISOBIT_CHECK(WIFEXITED(how) && WEXITSTATUS(how) <= 1);
  return WEXITSTATUS(how) == 0 ? Ended::kTrue : Ended::kFalse;
}

}  // namespace isobit::bundle::testing

using isobit::bundle::testing::die;
using isobit::bundle::testing::fatal_reach;
using isobit::bundle::testing::is_fatal;
using isobit::bundle::testing::Reach;

// The names are the linker's.
extern "C" {
ssize_t __real_write(int fd, const void* data, size_t n);
ssize_t __real_pwrite(int fd, const void* data, size_t n, off_t offset);
int __real_fsync(int fd);
int __real_ftruncate(int fd, off_t size);
int __real_unlink(const char* path);
int __real_rename(const char* from, const char* to);
int __real_mkdir(const char* path, mode_t mode);

ssize_t __wrap_write(int fd, const void* data, size_t n) {
  if (!is_fatal()) return __real_write(fd, data, n);
  if (fatal_reach == Reach::kHalfway) (void)!__real_write(fd, data, n / 2);
  die();
}
ssize_t __wrap_pwrite(int fd, const void* data, size_t n, off_t offset) {
  if (!is_fatal()) return __real_pwrite(fd, data, n, offset);
  if (fatal_reach == Reach::kHalfway) (void)!__real_pwrite(fd, data, n / 2, offset);
  die();
}
int __wrap_fsync(int fd) {
  if (is_fatal()) die();
  return __real_fsync(fd);
}
int __wrap_ftruncate(int fd, off_t size) {
  if (is_fatal()) die();
  return __real_ftruncate(fd, size);
}
int __wrap_unlink(const char* path) {
  if (is_fatal()) die();
  return __real_unlink(path);
}
int __wrap_rename(const char* from, const char* to) {
  if (is_fatal()) die();
  return __real_rename(from, to);
}
int __wrap_mkdir(const char* path, mode_t mode) {
  if (is_fatal()) die();
  return __real_mkdir(path, mode);
}
}
