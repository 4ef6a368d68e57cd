// Child processes, what they write, and pieces of work that run at the same time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include "isobit/base/temporary_folder.h"
#include "isobit/base/text.h"
#include "isobit/lab/measure/parallel.h"
#include "isobit/lab/worker/child_process.h"
#include "isobit/lab/worker/environment.h"
#include "isobit/lab/worker/output_pipe.h"

namespace isobit::lab {
namespace {

using worker::ChildProcess;
using worker::Ending;

Ending run(const std::string& script, double seconds = 30, const std::function<bool()>& stopped = nullptr) {
  auto process = ChildProcess::start({{"sh", "-c", script}, {{"ISOBIT_TEST_WORD", "a word"}}, -1, -1, -1, true});
  EXPECT_TRUE(process) << process.error().message;
  return process->wait(seconds, stopped);
}

TEST(ChildProcess, HowItEnded) {
  EXPECT_EQ(run("exit 0").code, 0);
  const Ending seven = run("exit 7");
  EXPECT_EQ(seven.how, Ending::How::kExited);
  EXPECT_EQ(seven.code, 7);
  EXPECT_EQ(run("test \"$ISOBIT_TEST_WORD\" = 'a word'").code, 0);
  const Ending killed = run("kill -9 $$");
  EXPECT_EQ(killed.how, Ending::How::kSignalled);
  EXPECT_EQ(killed.code, 9);
  EXPECT_EQ(run("sleep 100", 0.05).how, Ending::How::kOverTime);
  EXPECT_EQ(run("sleep 100", 100, [] { return true; }).how, Ending::How::kStopped);
  EXPECT_EQ(run("exec 2>&1; cat; echo to nowhere").code, 0);  // it reads and writes /dev/null
  const auto missing = ChildProcess::start({{"/nowhere/program"}, {}, -1, -1, -1, false});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
}

TEST(ChildProcess, WhatItStartedEndsWithIt) {
  // A pipe that the grandchild holds open: it is closed when nobody is left.
  int ends[2];
  ASSERT_EQ(pipe2(ends, 0), 0);
  {
    auto process = ChildProcess::start({{"sh", "-c", "sleep 1000 & wait"}, {}, -1, ends[1], -1, true});
    ASSERT_TRUE(process);
    close(ends[1]);
    EXPECT_EQ(process->wait(0.2).how, Ending::How::kOverTime);
  }
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(Environment, HasWhatDecidesAndNothingElse) {
  const char* const set[] = {"PATH=/bin",
                             "TF_CLI_CONFIG_FILE=secret",
                             "TF_ENABLE_ONEDNN_OPTS=0",
                             "QEMU_CPU_OTHER=1",
                             "OPENBLAS_CORETYPE=Neha\x1blem",
                             "TF_VAR_password=secret",
                             "OMP_NUM_THREADS=3",
                             nullptr};
  EXPECT_EQ(worker::computing_environment(set),
            "OMP_NUM_THREADS=3; OPENBLAS_CORETYPE=Neha\\x1blem; TF_ENABLE_ONEDNN_OPTS=0");
  const char* const none[] = {"HOME=/", nullptr};
  EXPECT_EQ(worker::computing_environment(none), "");
  const std::string flags = "XLA_FLAGS=" + std::string(5000, '-');
  const char* const many[] = {flags.c_str(), nullptr};
  EXPECT_TRUE(worker::computing_environment(many).starts_with("1 variables, SHA-256 "));
}

// However much is written, the last of it is kept, and whoever writes it is not held up.
TEST(OutputPipe, KeepsTheEnd) {
  worker::OutputPipe pipe = worker::OutputPipe::make(100).value();
  auto process = ChildProcess::start(
      {{"sh", "-c", "exec 1>&2; head -c 3000000 /dev/zero; echo the end"}, {}, -1, -1, pipe.write_end(), true});
  ASSERT_TRUE(process);
  pipe.close_write_end();
  const auto draining = [&] {
    pipe.drain();
    return false;
  };
  EXPECT_EQ(process->wait(30, draining).how, Ending::How::kExited);
  pipe.drain();
  EXPECT_TRUE(pipe.has_lost());
  EXPECT_EQ(pipe.text().size(), 100u);
  EXPECT_TRUE(pipe.text().ends_with("the end\n"));
}

TEST(ChildProcess, WritesNoLargerFileThanItMay) {
  const TemporaryFolder folder = TemporaryFolder::make("process").value();
  const fs::path file = folder.path() / "file";
  worker::ProgramCall call{
      {"sh", "-c", text_of("sleep 0.1; exec head -c 1000000 /dev/zero > ", file.string())}, {}, -1, -1, -1, true};
  call.most_file_bytes = 4096;
  auto process = ChildProcess::start(call);
  ASSERT_TRUE(process);
  const Ending ending = process->wait(30);
  EXPECT_TRUE(ending.how == Ending::How::kSignalled ? ending.code == SIGXFSZ : ending.code != 0);
  EXPECT_EQ(fs::file_size(file), 4096u);
}

TEST(ChildProcess, ItEndsWithAProgramThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t program = fork();
  ASSERT_GE(program, 0);
  if (program == 0) {
    const auto process = ChildProcess::start({{"sh", "-c", "exec sleep 1000"}, {}, -1, ends[1], -1, true});
    kill(getpid(), process ? SIGKILL : SIGTERM);
  }
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(program, &status, 0), program);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  // Closed when nobody is left.
  pollfd waiting = {ends[0], POLLIN, 0};
  ASSERT_EQ(poll(&waiting, 1, 10'000), 1);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(Parallel, EachIsTakenOnceInOrderAndNoMoreRunThanThereAreCores) {
  const std::vector<int> weights = {1, 2, 1, 1, 5, 1, 1, 3, 1};
  std::atomic<int> running = 0, most = 0;
  std::vector<size_t> order;
  const Status done = measure::in_parallel(
      weights, 3,
      [&](size_t i) {
        const int now = running += std::min(weights[i], 3);
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 3));
        running -= std::min(weights[i], 3);
      },
      [&](size_t i) -> Status {
        order.push_back(i);
        return {};
      },
      [] {});
  EXPECT_TRUE(done);
  EXPECT_LE(most, 3);
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Parallel, AnErrorEndsIt) {
  std::atomic<size_t> begun = 0;
  std::atomic<bool> abandoned = false;
  const Status done = measure::in_parallel(
      std::vector<int>(100, 1), 2,
      [&](size_t i) {
        ++begun;
        // Those behind the one that fails are at work until they are given up: else all might be over before it is
        // taken.
        while (i > 3 && !abandoned) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      [](size_t i) -> Status { return i == 3 ? Status(unavailable("full")) : Status(); }, [&] { abandoned = true; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "full");
  EXPECT_TRUE(abandoned);
  EXPECT_LT(begun, 100u);
}

}  // namespace
}  // namespace isobit::lab
