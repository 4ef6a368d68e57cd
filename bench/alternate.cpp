// Measures isobit and its rivals in turn, one case after another.
//
//   matmul_bench [--threads N] [--rounds N] [--seconds S] [--libraries isobit,openblas,mkl,onednn] [--only REGEX]
//                [--skip FILE] [--list]
//
// Without --libraries all take part but correct-1, which matmul_bench alone has. A case's results are checked before
// anything is timed. Then come the rounds: in each of them every contestant runs for S seconds at least, beginning with
// another one each time. Seconds are of one run, of the processor for one thread and of the wall for several. Printed
// is one line of JSON for the machine and one for each case:
//   {"context": {...}}
//   {"name": "matmul/square/512x512x512", "flops": 268435456, "seconds": {"isobit": [...], "mkl": [...], ...}}
// FILE names cases to leave out, one a line.
//
// The process may run on N processors only, since that is how oneDNN's TBB is told how many threads to take; the others
// are told by their functions. Every library waits for work in its own way, which may be spinning; before it is
// anybody's turn all sleep for longer than any of them spins. Every thread that computes is bound to a processor of its
// own, since the system may leave two that were woken together on one for a while (threads.h).
#include "bench/alternate.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "bench/threads.h"
#include "isobit/base/text.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/matmul/matmul.h"

namespace isobit::bench {
namespace {

// How long Intel's OpenMP and OpenBLAS spin: long enough for the next call of a turn. OpenBLAS's own 2^28 cycles would
// outlast the pause, and the next one's turn had a processor less.
constexpr const char *kSpinMilliseconds = "20", *kSpinLogCycles = "25";

struct Options {
  int threads = 1, rounds = 7;
  double seconds = 0.02;
  std::set<std::string> libraries = {"isobit", "openblas", "mkl", "onednn"}, skipped;
  std::string only;
  bool list = false;
};

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

// The libraries read their environment when they are loaded, hence the second start.
void start_again_with_environment(char** argv) {
  if (std::getenv("ISOBIT_BENCH_STARTED")) return;
  const char* folder = std::getenv("ISOBIT_BENCH_LIBRARIES");
  setenv("ISOBIT_BENCH_STARTED", "1", 1);
  setenv("MKL_THREADING_LAYER", "INTEL", 1);
  setenv("MKL_DYNAMIC", "FALSE", 1);
  setenv("KMP_BLOCKTIME", kSpinMilliseconds, 1);
  setenv("KMP_LIBRARY", "turnaround", 1);  // each thread has a processor
  setenv("OPENBLAS_THREAD_TIMEOUT", kSpinLogCycles, 1);
  setenv("OCL_ICD_FILENAMES", text_of(folder ? folder : ISOBIT_BENCH_LIBRARIES, "/lib/libintelocl.so").c_str(), 1);
  // What older versions needed slows current ones down.
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
                           "OPENBLAS_NUM_THREADS", "OMP_WAIT_POLICY", "KMP_AFFINITY"}) {
    unsetenv(name);
  }
  execv("/proc/self/exe", argv);
}

void isobit_sgemm(int threads, const Product& p) {
  kernels::MatmulArgs<float> args;
  args.m = p.m, args.n = p.n, args.k = p.k;
  args.a = p.a, args.a_row_stride = p.k, args.a_col_stride = 1;
  args.b = p.b, args.b_row_stride = p.n, args.b_col_stride = 1;
  args.c = p.c, args.c_row_stride = p.n;
  kernels::matmul({kernels::best_isa(), &pool_of(threads)}, args);
}

// Every contestant with a product that takes a while.
std::vector<Computing> computing(const Setting& setting) {
  std::vector<Computing> all;
  if (setting.wanted("isobit")) {
    all.push_back({"isobit", [n = setting.threads](const Product& p) { isobit_sgemm(n, p); }});
  }
  for (const Rival& rival : setting.blas) all.push_back({rival.name, rival.sgemm});
  if (setting.wanted("onednn")) {
    all.push_back({"onednn:sgemm", onednn::sgemm});
    all.push_back({"onednn:matmul", [](const Product& p) { onednn::matmul(p).run(); }});
  }
  return all;
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

double time_once(const Contestant& contestant, int threads, int64_t runs, double warm) {
  std::this_thread::sleep_for(kPause);
  const double woken = seconds(0);
  do contestant.prepared.run();
  while (seconds(0) - woken < warm);
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
      times[at].push_back(time_once(contestants[at], setting.threads, runs[at], o.seconds));
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
  check_threads(o.threads, computing(setting), true);
  for (const Case& one : chosen) measure(one, setting, o);
  check_threads(o.threads, computing(setting), false);
  return 0;
}
