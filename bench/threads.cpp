#include "bench/threads.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "bench/alternate.h"
#include "isobit/base/text.h"

namespace isobit::bench {
namespace {

std::vector<int> processors() {
  cpu_set_t may;
  sched_getaffinity(0, sizeof may, &may);
  std::vector<int> all;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &may)) all.push_back(cpu);
  }
  return all;
}

void bind_to(pid_t thread, const std::vector<int>& cpus) {
  cpu_set_t shall;
  CPU_ZERO(&shall);
  for (const int cpu : cpus) CPU_SET(cpu, &shall);
  if (sched_setaffinity(thread, sizeof shall, &shall) != 0) end(text_of("thread ", thread, " cannot be bound"));
}

// Nanoseconds that each thread of this process has run.
std::map<pid_t, uint64_t> running_times() {
  std::map<pid_t, uint64_t> times;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = tasks ? readdir(tasks) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    std::ifstream file(text_of("/proc/self/task/", entry->d_name, "/schedstat"));
    uint64_t ran = 0;
    if (file >> ran) times[std::atoi(entry->d_name)] = ran;
  }
  if (tasks) closedir(tasks);
  return times;
}

// Those that share the work of a large product.
std::vector<pid_t> threads_of(const std::function<void(const Product&)>& product) {
  const int64_t n = 1024;
  const Operand a(n * n, 1), b(n * n, 2), c(n * n, 3);
  const Product p{n, n, n, false, false, a.data(), b.data(), c.data()};
  product(p);
  std::this_thread::sleep_for(kPause);
  const auto before = running_times();
  for (int i = 0; i < 20; ++i) product(p);
  uint64_t most = 0;  // of a thread
  std::map<pid_t, uint64_t> ran;
  for (const auto& [thread, time] : running_times()) {
    ran[thread] = time - (before.contains(thread) ? before.at(thread) : 0);
    most = std::max(most, ran[thread]);
  }
  std::vector<pid_t> found;
  for (const auto& [thread, time] : ran) {
    if (time > most / 5) found.push_back(thread);
  }
  return found;
}

// Each to a processor of its own, where it stays: a library's threads may compute in several company. The caller, who
// is bound last, has the first.
void bind_apart(const std::vector<pid_t>& threads, const std::vector<int>& cpus) {
  static std::map<pid_t, int> bound = {{getpid(), cpus[0]}};
  std::vector<int> free = cpus;
  for (const pid_t thread : threads) {
    if (!bound.contains(thread)) continue;
    if (std::erase(free, bound.at(thread)) == 0) end("two threads that compute together are bound to one processor");
  }
  for (const pid_t thread : threads) {
    if (bound.contains(thread)) continue;
    bound[thread] = free.back();
    bind_to(thread, {free.back()});
    free.pop_back();
  }
}

}  // namespace

void end(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(2);
}

void confine(int threads) {
  std::vector<int> cpus = processors();
  const auto wanted = static_cast<size_t>(threads);
  if (cpus.size() < wanted) end(text_of("expected ", threads, " processors, found ", cpus.size()));
  cpus.erase(cpus.begin(), cpus.end() - threads);
  bind_to(0, cpus);
}

void check_threads(int threads, const std::vector<Computing>& all, bool bind) {
  const std::vector<int> cpus = processors();
  const auto wanted = static_cast<size_t>(threads);
  for (const Computing& one : all) {
    const std::vector<pid_t> found = threads_of(one.product);
    if (found.size() != wanted) end(text_of(one.name, " computes on ", found.size(), " threads, expected ", threads));
    if (bind) bind_apart(found, cpus);
  }
  if (bind) bind_to(0, {cpus[0]});  // at last: threads that are made inherit it
}

}  // namespace isobit::bench
