#include "isobit/lab/worker/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "isobit/base/file.h"
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

// What a child does on its way to its program; between fork and exec only what may be done in a copy of one thread.
struct Child {
  char* const* words;
  char* const* environment;
  int in, out, error, problems;  // problems: where an errno goes that kept it from its program
  bool own_group;
  rlim_t most_file_bytes;
  pid_t parent;

  [[noreturn]] void run() const {
    // Whoever is killed cannot end its children.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
    if (getppid() != parent) _exit(kNotStarted);
    if (own_group && setpgid(0, 0) != 0) fail();
    limit_files();
    connect(in, STDIN_FILENO);
    connect(out, STDOUT_FILENO);
    connect(error, STDERR_FILENO);
    // Signals that this program ignores or has functions for are the child's own affair.
    for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvpe(words[0], words, environment);
    fail();
  }

 private:
  static constexpr int kNotStarted = 127;

  void connect(int from, int to) const {
    if (from < 0) from = open("/dev/null", to == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    if (from < 0 || (from == to ? fcntl(to, F_SETFD, 0) : dup2(from, to)) < 0) fail();
  }
  void limit_files() const {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) fail();
    if (most_file_bytes >= limit.rlim_cur) return;
    limit.rlim_cur = most_file_bytes;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) fail();
  }
  [[noreturn]] void fail() const {
    const int problem = errno;
    static_cast<void>(!write(problems, &problem, sizeof problem));
    _exit(kNotStarted);
  }
};

}  // namespace

Expected<ChildProcess> ChildProcess::start(const ProgramCall& call) {
  std::vector<std::string> words = call.words, environment = environment_with(call.environment);
  const std::vector<char*> word_pointers = pointers_to(words), environment_pointers = pointers_to(environment);
  const auto failed = [&](int problem) {
    return unavailable(text_of("'", words[0], "' cannot be started: ", std::strerror(problem)));
  };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed(errno);
  const Descriptor problems(ends[0]);
  Descriptor theirs(ends[1]);
  const Child child{word_pointers.data(), environment_pointers.data(), call.in,   call.out, call.error, theirs.get(),
                    call.own_group,       call.most_file_bytes,        ::getpid()};
  // Not posix_spawn, which has no way to let a child end with its parent.
  const pid_t pid = fork();
  if (pid < 0) return failed(errno);
  if (pid == 0) child.run();
  theirs.close();
  int problem = 0;
  ssize_t told = 0;
  do {
    told = read(problems.get(), &problem, sizeof problem);
  } while (told < 0 && errno == EINTR);
  ChildProcess process(pid, call.own_group);
  if (told != 0) return failed(problem);
  return process;
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
