#include "isobit/report/layout.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "isobit/base/file.h"
#include "isobit/base/text.h"

namespace isobit::report {
namespace {

constexpr size_t kMaxAnswer = 32 << 20;
constexpr rlim_t kMemory = rlim_t{2} << 30;
constexpr int kNotThere = 127;

std::string described(size_t nodes, const std::vector<std::pair<size_t, size_t>>& edges) {
  // Curves around the nodes take most of the time in a large graph.
  std::string text = text_of("digraph{rankdir=TB;nodesep=0.2;ranksep=0.25;nslimit=2;nslimit1=2;splines=",
                             nodes + edges.size() > 6'000 ? "line" : "true",
                             ";node[shape=box,fixedsize=true,label=\"\",width=", kNodeWidth, ",height=", kNodeHeight,
                             "];edge[dir=none];");
  for (size_t n = 0; n < nodes; ++n) text += text_of("n", n, ";");
  for (const auto& [from, to] : edges) text += text_of("n", from, "->n", to, ";");
  return text + "}\n";
}

Expected<Descriptor> file_in_memory(const std::string& text, const char* program) {
  Descriptor file(memfd_create("graph", MFD_CLOEXEC));
  size_t done = 0;
  while (file && done < text.size()) {
    const ssize_t n = write(file.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) done += static_cast<size_t>(n);
  }
  if (!file || done < text.size() || lseek(file.get(), 0, SEEK_SET) != 0) {
    return unavailable(text_of(program, ": no memory for its input: ", std::strerror(errno)));
  }
  return file;
}

[[noreturn]] void be_child(int in, int out, int seconds, const char* program) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0}, memory = {kMemory, kMemory};
  const rlimit time = {static_cast<rlim_t>(seconds), static_cast<rlim_t>(seconds)};
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CPU, &time);
  const int nowhere = open("/dev/null", O_WRONLY);
  if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0) _exit(1);
  execlp(program, program, "-Tplain", static_cast<char*>(nullptr));
  _exit(kNotThere);
}

// To the end, or past kMaxAnswer. False at the deadline.
bool read_until(int fd, std::chrono::steady_clock::time_point deadline, std::string& out) {
  while (out.size() <= kMaxAnswer) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting = {fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char block[1 << 16];
    const ssize_t n = read(fd, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    out.append(block, static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Expected<Layout> lay_out(size_t nodes, const std::vector<std::pair<size_t, size_t>>& edges, int seconds,
                         const char* program) {
  if (nodes > kMaxDrawnNodes || edges.size() > kMaxDrawnEdges) {
    return unavailable(text_of("the graph has ", nodes, " nodes and ", edges.size(), " edges; at most ", kMaxDrawnNodes,
                               " and ", kMaxDrawnEdges, " are drawn"));
  }
  ISOBIT_TRY(const Descriptor in, file_in_memory(described(nodes, edges), program));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return unavailable(text_of(program, ": no pipe: ", std::strerror(errno)));
  const Descriptor out(ends[0]);
  Descriptor child_out(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return unavailable(text_of(program, ": no child process: ", std::strerror(errno)));
  if (pid == 0) be_child(in.get(), child_out.get(), seconds, program);
  child_out.close();
  std::string answer;
  const bool in_time = read_until(out.get(), std::chrono::steady_clock::now() + std::chrono::seconds(seconds), answer);
  if (!in_time || answer.size() > kMaxAnswer) kill(pid, SIGKILL);
  int state = 0;
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  if (answer.size() > kMaxAnswer) {
    return unavailable(text_of(program, ": it answered with more than ", human_bytes(kMaxAnswer)));
  }
  if (!in_time) return unavailable(text_of(program, ": no layout within ", seconds, " s"));
  if (WIFEXITED(state) && WEXITSTATUS(state) == kNotThere && answer.empty()) {
    return unavailable(text_of("Graphviz is not installed ('", program, "' is not on PATH); apt-get install graphviz"));
  }
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
    return unavailable(text_of(program, ": it failed, or needs more memory than ", human_bytes(kMemory)));
  }
  return read_plain(answer, nodes, edges.size(), program);
}

}  // namespace isobit::report
