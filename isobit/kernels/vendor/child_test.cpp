// What comes out of a child process, however it ends.
#include "isobit/kernels/vendor/child.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <stdexcept>

#include "isobit/base/machine_cannot.h"

namespace isobit::kernels {
namespace {

constexpr int kLimit = 120;

TEST(Child, ReportsResultsErrorsSignalsAndHangs) {
  const auto result = vendor::run_in_child(
      "c",
      [] {
        return Expected<Bytes>(Bytes{1, 2, 3});
      },
      kLimit);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (Bytes{1, 2, 3}));
  const auto error = vendor::run_in_child(
      "c", []() -> Expected<Bytes> { return rejected("said so"); }, kLimit);
  EXPECT_EQ(error.error().code, ErrorCode::kRejected);
  EXPECT_EQ(error.error().message, "said so");
  const auto crash = vendor::run_in_child(
      "c",
      []() -> Expected<Bytes> {
        std::raise(SIGILL);
        return Bytes();
      },
      kLimit);
  EXPECT_EQ(crash.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(crash.error().message, "c: ended by SIGILL");
  const auto hang = vendor::run_in_child(
      "c",
      []() -> Expected<Bytes> {
        for (;;) pause();
      },
      1);
  EXPECT_EQ(hang.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(hang.error().message, "c: no result within 1 s");
  const auto silent = vendor::run_in_child(
      "c", []() -> Expected<Bytes> { _exit(7); }, kLimit);
  EXPECT_EQ(silent.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(silent.error().message, "c: ended without an answer, with exit code 7");
  for (size_t size : {size_t{5000000}, size_t{5000001}}) {
    const auto large = vendor::run_in_child(
        "c", [size]() -> Expected<Bytes> { return Bytes(size, 7); }, kLimit, 5000000);
    EXPECT_EQ(large.has_value(), size == 5000000);
    if (large) {
      EXPECT_EQ(*large, Bytes(size, 7));
    } else {
      EXPECT_EQ(large.error().message, "c: an answer of more than 5000000 bytes");
    }
  }
}

// What the work throws is said; what stands above on the parent's stack is unwound once, by the parent.
TEST(Child, SaysWhatItThrowsAndUnwindsNothingOfItsParents) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  struct Tidies {
    int fd;
    ~Tidies() { EXPECT_EQ(write(fd, "x", 1), 1); }
  };
  const auto answer = [&](const std::function<void()>& throws) {
    const Tidies tidies{ends[1]};
    const auto result = vendor::run_in_child(
        "c",
        [&]() -> Expected<Bytes> {
          throws();
          return Bytes{1};
        },
        kLimit);
    EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
    return result.error().message;
  };
  EXPECT_EQ(answer([] { throw std::bad_alloc(); }), "c: this machine has not enough memory for it");
  EXPECT_EQ(answer([] { throw std::length_error("vector"); }), "c: this machine has not enough memory for it");
  EXPECT_EQ(answer([] { throw MachineCannot("cannot start 64 threads"); }), "c: cannot start 64 threads");
  EXPECT_EQ(answer([] { throw std::logic_error("a bug of ours"); }).rfind("c: ended ", 0), 0u);
  close(ends[1]);
  char tidied[8];
  EXPECT_EQ(read(ends[0], tidied, sizeof tidied), 4);
  close(ends[0]);
}

TEST(Child, SaysThatItsThreadCannotBeStarted) {
  const pid_t pid = fork();  // what a thread gets is set for a process
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    pthread_attr_t no_room;
    pthread_attr_init(&no_room);
    const bool set =
        pthread_attr_setstacksize(&no_room, size_t{1} << 50) == 0 && pthread_setattr_default_np(&no_room) == 0;
    const auto result = vendor::run_in_child(
        "c", [] { return Expected<Bytes>(Bytes{1}); }, kLimit);
    const bool said = !result && result.error().code == ErrorCode::kUnavailable &&
                      result.error().message.find("c: cannot start a thread: ") == 0;
    _exit(set && said ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(pid, &state, 0), pid);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << state;
}

// Whoever ends the parent leaves no child that computes on.
TEST(Child, EndsWithItsParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    (void)vendor::run_in_child(
        "c",
        [&]() -> Expected<Bytes> {
          if (write(ends[1], "x", 1) != 1) return Bytes();
          for (;;) pause();
        },
        kLimit);
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  kill(parent, SIGKILL);
  int state = 0;
  ASSERT_EQ(waitpid(parent, &state, 0), parent);
  pollfd waiting = {ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 60000), 1) << "the pipe ends with its last holder, the child";
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace isobit::kernels
