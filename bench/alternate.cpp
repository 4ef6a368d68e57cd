// Measures isobit and its rivals in turn, one case after another.
//
//   matmul_bench [--threads N] [--rounds N] [--seconds S] [--libraries isobit,openblas,mkl,onednn] [--only REGEX]
//                [--skip FILE] [--list]
//
// A case's results are checked before anything is timed. Then come the rounds: in each of them every contestant runs
// for S seconds at least, beginning with another one each time. Seconds are of one run, of the processor for one thread
// and of the wall for several. Printed is one line of JSON for the machine and one for each case:
//   {"context": {...}}
//   {"name": "matmul/square/512x512x512", "flops": 268435456, "seconds": {"isobit": [...], "mkl": [...], ...}}
// FILE names cases to leave out, one a line.
//
// The process may run on N processors only, since that is how oneDNN's TBB is told how many threads to take; the others
// are told by their functions. Every library waits for work in its own way, which may be spinning; before it is
// anybody's turn all sleep for longer than any of them spins.
#include "bench/alternate.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "isobit/base/text.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/matmul/matmul.h"

namespace isobit::bench {
namespace {

constexpr auto kPause = std::chrono::milliseconds(50);
constexpr const char* kSpinMilliseconds = "20";  // of Intel's OpenMP; OpenBLAS spins for 2^26 cycles

struct Options {
  int threads = 1, rounds = 7;
  double seconds = 0.02;
  std::set<std::string> libraries = {"isobit", "openblas", "mkl", "onednn"}, skipped;
  std::string only;
  bool list = false;
};

[[noreturn]] void end(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--list") {
      o.list = true;
      continue;
    }
    if (i + 1 == argc) end(text_of("expected a value of ", key));
    const std::string value = argv[++i];
    std::istringstream parts(value);
    std::ifstream file;
    if (key == "--threads") {
      o.threads = std::max(1, std::atoi(value.c_str()));
    } else if (key == "--rounds") {
      o.rounds = std::max(1, std::atoi(value.c_str()));
    } else if (key == "--seconds") {
      o.seconds = std::atof(value.c_str());
    } else if (key == "--only") {
      o.only = value;
    } else if (key == "--libraries") {
      o.libraries.clear();
      for (std::string name; std::getline(parts, name, ',');) o.libraries.insert(name);
    } else if (key == "--skip") {
      file.open(value);
      for (std::string name; std::getline(file, name);) o.skipped.insert(name);
    } else {
      end(text_of("unknown option ", key, "; alternate.cpp says which there are"));
    }
  }
  return o;
}

// Confines this process to so many processors, the last that it may run on.
void confine(int threads) {
  cpu_set_t may, shall;
  CPU_ZERO(&shall);
  sched_getaffinity(0, sizeof may, &may);
  int left = threads;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && left > 0; --cpu) {
    if (!CPU_ISSET(cpu, &may)) continue;
    CPU_SET(cpu, &shall);
    --left;
  }
  if (left > 0) end(text_of("expected ", threads, " processors, ", left, " are missing"));
  sched_setaffinity(0, sizeof shall, &shall);
}

// The libraries read their environment when they are loaded, hence the second start.
void start_again_with_environment(char** argv) {
  if (std::getenv("ISOBIT_BENCH_STARTED")) return;
  const char* folder = std::getenv("ISOBIT_BENCH_LIBRARIES");
  setenv("ISOBIT_BENCH_STARTED", "1", 1);
  setenv("MKL_THREADING_LAYER", "INTEL", 1);
  setenv("MKL_DYNAMIC", "FALSE", 1);
  setenv("KMP_BLOCKTIME", kSpinMilliseconds, 1);
  setenv("OCL_ICD_FILENAMES", text_of(folder ? folder : ISOBIT_BENCH_LIBRARIES, "/lib/libintelocl.so").c_str(), 1);
  // What older versions needed slows current ones down.
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_THREAD_TIMEOUT", "OMP_NUM_THREADS",
                           "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_WAIT_POLICY", "KMP_AFFINITY"}) {
    unsetenv(name);
  }
  execv("/proc/self/exe", argv);
}

// Nanoseconds that each thread of this process has run.
std::map<std::string, uint64_t> running_times() {
  std::map<std::string, uint64_t> times;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = tasks ? readdir(tasks) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    std::ifstream file(text_of("/proc/self/task/", entry->d_name, "/schedstat"));
    uint64_t ran = 0;
    if (file >> ran) times[entry->d_name] = ran;
  }
  if (tasks) closedir(tasks);
  return times;
}

// How many threads share the work of a large product.
int threads_of(const std::function<void(const Product&)>& sgemm) {
  const int64_t n = 1024;
  const Operand a(n * n, 1), b(n * n, 2), c(n * n, 3);
  const Product p{n, n, n, false, false, a.data(), b.data(), c.data()};
  sgemm(p);
  std::this_thread::sleep_for(kPause);
  const auto before = running_times();
  for (int i = 0; i < 20; ++i) sgemm(p);
  uint64_t most = 0;  // of a thread
  std::vector<uint64_t> ran;
  for (const auto& [thread, time] : running_times()) {
    ran.push_back(time - (before.contains(thread) ? before.at(thread) : 0));
    most = std::max(most, ran.back());
  }
  return static_cast<int>(std::count_if(ran.begin(), ran.end(), [&](uint64_t t) { return t > most / 5; }));
}

void isobit_sgemm(int threads, const Product& p) {
  kernels::MatmulArgs<float> args;
  args.m = p.m, args.n = p.n, args.k = p.k;
  args.a = p.a, args.a_row_stride = p.k, args.a_col_stride = 1;
  args.b = p.b, args.b_row_stride = p.n, args.b_col_stride = 1;
  args.c = p.c, args.c_row_stride = p.n;
  kernels::matmul({kernels::best_isa(), &pool_of(threads)}, args);
}

// Ends the program where a library takes more threads than it was told, or fewer. On a busy machine one that somebody
// before it left spinning may be counted, too, hence three tries.
void check_threads(const Setting& setting) {
  const auto check = [&](const std::string& name, const std::function<void(const Product&)>& sgemm) {
    int found = 0;
    for (int left = 3; left > 0 && found != setting.threads; --left) found = threads_of(sgemm);
    if (found != setting.threads) end(text_of(name, " computes on ", found, " threads, expected ", setting.threads));
  };
  if (setting.wanted("isobit")) check("isobit", [&](const Product& p) { isobit_sgemm(setting.threads, p); });
  for (const Rival& rival : setting.blas) check(rival.name, rival.sgemm);
  if (setting.wanted("onednn")) check("onednn", onednn::sgemm);
}

void print_context(const Setting& setting) {
  std::string line = text_of("{\"context\": {\"threads\": ", setting.threads, ", \"isobit\": \"",
                             kernels::name_of(kernels::best_isa()), "\"");
  for (const Rival& rival : setting.blas) line += text_of(", \"", rival.name, "\": \"", rival.version, "\"");
  if (setting.wanted("onednn")) line += text_of(", \"onednn\": \"", onednn::version(), "\"");
  std::printf("%s}}\n", line.c_str());
  std::fflush(stdout);
}

std::string rounded(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", seconds);
  return text;
}

double time_once(const Contestant& contestant, int threads, int64_t runs) {
  std::this_thread::sleep_for(kPause);
  const double begin = seconds(threads);
  for (int64_t i = 0; i < runs; ++i) contestant.prepared.run();
  return (seconds(threads) - begin) / static_cast<double>(runs);
}

void measure(const Case& one, const Setting& setting, const Options& o) {
  const std::vector<Contestant> contestants = one.prepare(setting);
  std::vector<int64_t> runs;
  for (const Contestant& c : contestants) {
    c.prepared.run();
    if (c.prepared.fetch) c.prepared.fetch();
    if (c.check) c.check();
    const double begin = seconds(0);
    c.prepared.run();
    runs.push_back(1 + static_cast<int64_t>(o.seconds / std::max(seconds(0) - begin, 1e-7)));
  }
  std::vector<std::vector<double>> times(contestants.size());
  for (int round = 0; round < o.rounds; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      const size_t at = (i + static_cast<size_t>(round)) % contestants.size();
      times[at].push_back(time_once(contestants[at], setting.threads, runs[at]));
    }
  }
  std::string line = text_of("{\"name\": \"", one.name, "\", \"flops\": ", one.flops, ", \"seconds\": {");
  for (size_t i = 0; i < contestants.size(); ++i) {
    line += text_of(i == 0 ? "\"" : ", \"", contestants[i].name, "\": [");
    for (size_t r = 0; r < times[i].size(); ++r) line += text_of(r == 0 ? "" : ", ", rounded(times[i][r]));
    line += "]";
  }
  std::printf("%s}}\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace isobit::bench

int main(int argc, char** argv) {
  using namespace isobit::bench;
  const Options o = parse(argc, argv);
  start_again_with_environment(argv);
  const std::regex only(o.only);
  std::vector<Case> chosen = cases();
  std::erase_if(chosen, [&](const Case& c) { return !std::regex_search(c.name, only) || o.skipped.contains(c.name); });
  if (o.list) {
    for (const Case& one : chosen) std::printf("%s\n", one.name.c_str());
    return 0;
  }
  confine(o.threads);
  Setting setting;
  setting.threads = o.threads;
  setting.wanted = [&](const std::string& name) {
    return o.libraries.contains(name) && (name != "onednn" || !onednn::version().empty());
  };
  setting.blas = blas_libraries(o.threads, setting.wanted);
  print_context(setting);
  check_threads(setting);
  for (const Case& one : chosen) measure(one, setting, o);
  return 0;
}
