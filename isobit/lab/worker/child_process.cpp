#include "isobit/lab/worker/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "isobit/base/text.h"

extern char** environ;

namespace isobit::lab::worker {
namespace {

// What a C function takes: pointers into the texts, and a null.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& own) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!own.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : own) all.push_back(text_of(name, "=", value));
  return all;
}

void connect(posix_spawn_file_actions_t& actions, int from, int to) {
  if (from >= 0) {
    posix_spawn_file_actions_adddup2(&actions, from, to);
  } else {
    posix_spawn_file_actions_addopen(&actions, to, "/dev/null", to == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  }
}

// Of a process that runs already, but for some microseconds only; a limit of ours, set for as long as it takes to start
// one, would hold for our other threads.
void limit_files(pid_t pid, uint64_t most) {
  rlimit limit{};
  if (most == UINT64_MAX || prlimit(pid, RLIMIT_FSIZE, nullptr, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, most);
  prlimit(pid, RLIMIT_FSIZE, &limit, nullptr);
}

}  // namespace

Expected<ChildProcess> ChildProcess::start(const ProgramCall& call) {
  std::vector<std::string> words = call.words, environment = environment_with(call.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  connect(actions, call.in, STDIN_FILENO);
  connect(actions, call.out, STDOUT_FILENO);
  connect(actions, call.error, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Signals that this program ignores or has functions for are the child's own affair.
  sigset_t defaults, none;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                           (call.own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, words[0].c_str(), &actions, &attributes, pointers_to(words).data(),
                                  pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return unavailable(text_of("'", words[0], "' cannot be started: ", std::strerror(failed)));
  limit_files(pid, call.most_file_bytes);
  return ChildProcess(pid, call.own_group);
}

Ending ChildProcess::wait(double limit_seconds, const std::function<bool()>& stopped) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::duration<double>(limit_seconds);
  auto pause = std::chrono::microseconds(200);
  while (pid_ > 0) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      // What it has started may still be there, and is nobody's any more.
      if (own_group_) kill(-pid_, SIGKILL);
      pid_ = 0;
      if (WIFSIGNALED(status)) return {Ending::How::kSignalled, WTERMSIG(status)};
      return {Ending::How::kExited, WEXITSTATUS(status)};
    }
    const bool stop = stopped && stopped();
    if (stop || steady_clock::now() >= deadline) {
      end();
      return {stop ? Ending::How::kStopped : Ending::How::kOverTime, 0};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(10'000));
  }
  return {};
}

void ChildProcess::end() {
  if (pid_ <= 0) return;
  kill(own_group_ ? -pid_ : pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace isobit::lab::worker
