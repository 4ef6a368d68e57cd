#include "tests/attacks/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "isobit/base/text.h"

namespace isobit::attacks {

namespace {

constexpr rlim_t kSpins = 300;                     // seconds of processor time
constexpr std::chrono::seconds kHangsAfter{1800};  // a busy machine is no finding; who computes is ended by kSpins

double seconds_of(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

[[noreturn]] void become(const std::string& path, const std::vector<std::string>& arguments, const fs::path& home) {
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  std::string home_is = text_of("ISOBIT_HOME=", home.string()), language = "LC_ALL=C";
  char* environment[] = {home_is.data(), language.data(), nullptr};
  const rlimit spins{kSpins, kSpins};
  ::setrlimit(RLIMIT_CPU, &spins);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(nowhere, fd);
  ::execve(path.c_str(), argv.data(), environment);
  ::_exit(127);
}

}  // namespace

std::optional<Program> Program::find() {
  const char* path = std::getenv("ISOBIT");
  if (path == nullptr || ::access(path, X_OK) != 0) return std::nullopt;
  return Program(path);
}

Ran Program::run(const std::vector<std::string>& arguments, const fs::path& home,
                 const commit::PublicKey& client) const {
  fs::remove_all(home);
  fs::create_directories(home);
  ISOBIT_CHECK(commit::write_public_key(home / "client.pub", client));
  const pid_t child = ::fork();
  ISOBIT_CHECK(child >= 0);
  if (child == 0) become(path_, arguments, home);
  const auto end = std::chrono::steady_clock::now() + kHangsAfter;
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, WNOHANG, &usage) == 0) {
    if (std::chrono::steady_clock::now() > end) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status),
          seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), static_cast<uint64_t>(usage.ru_maxrss) << 10};
}

std::vector<std::vector<std::string>> commands(const fs::path& folder, const fs::path& weights) {
  const std::string run = folder.string();
  return {{"audit", run, "--platform", "ordered/1t"},
          {"audit", run, "--platform", "ordered/1t", "--sample", "1", "--seed", std::string(32, 'a')},
          {"verify", run},
          {"info", run},
          {"eval", run, "--platform", "ordered/1t"},
          {"export", run, "--out", weights.string()}};
}

}  // namespace isobit::attacks
