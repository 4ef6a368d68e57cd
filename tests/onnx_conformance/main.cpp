// Runs ONNX's backend cases and says of each what came of it.
//
// usage: onnx_conformance FOLDER... [--platform P]... [--only TEXT] [--table FILE] [--least N]
//                         [--every N] [--bits FOLDER]
//   FOLDER      of cases, each a folder with model.onnx and test_data_set_0 ...
//   --platform  where they run (default: ordered/1t); of several, all have to give the same bits
//   --only      cases whose name has TEXT in it
//   --table     writes the tables of docs/onnx.md
//   --least     exit code 1 when fewer cases pass
//   --every     of the cases each N-th alone
//   --bits      a folder that gets type, shape and bytes of the outputs of each case that passes
// Each case has a process of its own, with limits on time and memory, so that whatever happens in it is its own line.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>

#include "isobit/base/printable.h"
#include "isobit/base/text.h"
#include "tests/onnx_conformance/case.h"

namespace {

using namespace isobit;
using conformance::Outcome;
using conformance::Verdict;

struct Options {
  std::vector<fs::path> folders;
  std::vector<platform::Platform> platforms;
  std::string only;
  std::string table;
  size_t least = 0, every = 1;
  fs::path bits;
};

struct Line {
  std::string folder, name;
  Outcome outcome;
};

// In a child: the result goes into the pipe as one byte and a text.
[[noreturn]] void run_child(const fs::path& folder, const Options& o, int pipe) {
  const rlimit seconds = {600, 600};  // emulated machines are slow
  ::setrlimit(RLIMIT_CPU, &seconds);
#if !defined(ISOBIT_SANITIZED) && defined(__x86_64__)  // what emulates another machine needs room of its own
  const rlimit memory = {rlim_t{8} << 30, rlim_t{8} << 30};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  Outcome outcome;
  try {
    const fs::path bits = o.bits.empty() ? fs::path() : o.bits / (folder.filename().string() + ".bits");
    outcome = conformance::run_case(folder, o.platforms, bits);
  } catch (const std::exception& error) {
    outcome = {Verdict::kFails, error.what()};
  }
  const std::string text = std::string(1, static_cast<char>(outcome.verdict)) + outcome.reason.substr(0, 2000);
  const bool written = ::write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::_exit(written ? 0 : 1);
}

Outcome run_apart(const fs::path& folder, const Options& o) {
  int ends[2];
  if (::pipe(ends) != 0) return {Verdict::kNotRun, "no pipe"};
  const pid_t child = ::fork();
  if (child < 0) return {Verdict::kNotRun, "no process"};
  if (child == 0) run_child(folder, o, ends[1]);
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {Verdict::kCrashes, text_of("ended by signal ", WTERMSIG(status))};
  if (text.empty()) return {Verdict::kCrashes, text_of("exit code ", WEXITSTATUS(status))};
  return {static_cast<Verdict>(text[0]), printable(text.substr(1))};
}

// Without the names of one file and node, so that one cause is one row.
std::string cause_of(const Outcome& outcome) {
  std::string reason = outcome.reason;
  if (const size_t place = reason.find("node '"); outcome.verdict == Verdict::kRefused && place != std::string::npos) {
    const size_t open = reason.find("' (", place);
    if (open != std::string::npos) reason = reason.substr(open + 3);
    if (const size_t opset = reason.find(", opset "), close = reason.find("): ");
        opset < close && close != reason.npos) {
      reason = reason.substr(0, opset) + reason.substr(close + 1);
    }
  }
  return reason;
}

void write_table(const std::vector<Line>& lines, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
    std::exit(4);
  }
  std::map<std::string, std::map<Verdict, int>> counts;
  std::map<std::pair<Verdict, std::string>, std::vector<std::string>> causes;
  for (const Line& line : lines) {
    ++counts[line.folder][line.outcome.verdict];
    if (line.outcome.verdict != Verdict::kPasses) {
      causes[{line.outcome.verdict, cause_of(line.outcome)}].push_back(line.name);
    }
  }
  std::fprintf(file,
               "| cases | passes | refused | differs | fails | not run | crashes |\n|---|---|---|---|---|---|---|\n");
  for (auto& [folder, count] : counts) {
    std::fprintf(file, "| %s | %d | %d | %d | %d | %d | %d |\n", folder.c_str(), count[Verdict::kPasses],
                 count[Verdict::kRefused], count[Verdict::kDiffers], count[Verdict::kFails], count[Verdict::kNotRun],
                 count[Verdict::kCrashes]);
  }
  std::fprintf(file, "\n| what | why | cases |\n|---|---|---|\n");
  for (const auto& [cause, names] : causes) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : " ") + name;
    std::fprintf(file, "| %s | %s | %zu: %s |\n", conformance::name_of(cause.first), cause.second.c_str(), names.size(),
                 list.c_str());
  }
  std::fclose(file);
}

std::vector<fs::path> cases_of(const fs::path& folder, const Options& o) {
  std::vector<fs::path> cases, some;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool wanted = entry.path().filename().string().find(o.only) != std::string::npos;
    if (wanted && fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  for (size_t i = 0; i < cases.size(); i += o.every) some.push_back(cases[i]);
  return some;
}

[[noreturn]] void usage(const std::string& problem) {
  std::fprintf(stderr, "onnx_conformance: %s\n", problem.c_str());
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      o.folders.emplace_back(word);
      continue;
    }
    if (i + 1 >= argc) usage(word + " needs a value");
    const std::string value = argv[++i];
    if (word == "--platform") {
      const auto platform = platform::parse_platform(value);
      if (!platform) usage(platform.error().message);
      o.platforms.push_back(*platform);
    } else if (word == "--only") {
      o.only = value;
    } else if (word == "--table") {
      o.table = value;
    } else if (word == "--least") {
      o.least = std::strtoul(value.c_str(), nullptr, 10);
    } else if (word == "--every") {
      o.every = std::max<size_t>(1, std::strtoul(value.c_str(), nullptr, 10));
    } else if (word == "--bits") {
      o.bits = value;
    } else {
      usage("there is no option '" + word + "'");
    }
  }
  if (o.folders.empty()) usage("name a folder of cases");
  if (o.platforms.empty()) o.platforms.push_back(*platform::parse_platform("ordered/1t"));
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  if (!o.bits.empty()) fs::create_directories(o.bits);
  std::vector<Line> lines;
  std::map<Verdict, size_t> counts;
  for (const fs::path& folder : o.folders) {
    if (!fs::is_directory(folder)) usage(folder.string() + ": no folder");
    for (const fs::path& path : cases_of(folder, o)) {
      const Outcome outcome = run_apart(path, o);
      lines.push_back({folder.filename().string(), path.filename().string(), outcome});
      ++counts[outcome.verdict];
      std::printf("%-60s %s%s%s\n", path.filename().c_str(), conformance::name_of(outcome.verdict),
                  outcome.reason.empty() ? "" : ": ", outcome.reason.c_str());
      std::fflush(stdout);
    }
  }
  if (!o.table.empty()) write_table(lines, o.table);
  std::printf("%zu cases:", lines.size());
  for (const auto& [verdict, count] : counts) std::printf(" %zu %s", count, conformance::name_of(verdict));
  std::printf("\n");
  return counts[Verdict::kPasses] < o.least || counts[Verdict::kCrashes] > 0 ? 1 : 0;
}
