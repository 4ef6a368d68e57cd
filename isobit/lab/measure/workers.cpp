#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <isobit_engine_workers.inc>
#include <map>
#include <sstream>

#include "isobit/base/text.h"
#include "isobit/lab/measure/engines.h"
#include "isobit/lab/measure/native_worker.h"
#include "isobit/lab/worker/child_process.h"
#include "isobit/lab/worker/environment.h"
#include "isobit/lab/worker/output_pipe.h"

namespace isobit::lab::measure {
namespace {

constexpr uint64_t kMostOutput = 1 << 20;     // of a list of engines
constexpr uint64_t kMostLastWords = 1 << 12;  // of what a process complains of
// Of a file besides answer and tensors: what an engine writes for itself, or keeps in memory under the name of a file.
constexpr uint64_t kMostOtherFile = uint64_t{1} << 30;
constexpr const char* kPurpose = "sweep";  // in the names of folders
constexpr int kSecondsToLock = 60;         // of a folder that was made
constexpr double kSecondsToTellVersion = 20;
constexpr size_t kMaxVersion = 100;

Status write_new(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return unavailable(text_of(path.string(), ": cannot be written; free some space there"));
  return {};
}

Status write_scripts(const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  for (const auto& [name, text] : kEngineWorkers) ISOBIT_RETURN_IF_ERROR(write_new(folder / name, text));
  return {};
}

// The last line that is not empty, as far as it is worth showing.
std::string last_words(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text.substr(text.rfind('\n') + 1).substr(0, 500);
}

// What a process that gave no answer has come to.
std::string words_of(const worker::Ending& ending, double limit_seconds) {
  using How = worker::Ending::How;
  switch (ending.how) {
    case How::kExited:
      return text_of("its worker ended without an answer, exit code ", ending.code);
    case How::kSignalled:
      return text_of("its worker was ended by signal ", ending.code, " (", strsignal(ending.code), ")");
    case How::kOverTime:
      return text_of("its worker was ended after ", human_seconds(limit_seconds), " (--max-seconds)");
    case How::kStopped:
      return "its worker was stopped";
  }
  return "";
}

Expected<Descriptor> locked(const fs::path& folder) {
  Descriptor held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!held || ::flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
    return unavailable(text_of(folder.string(), ": cannot be locked: ", std::strerror(errno)));
  }
  return held;
}

// Folders of sweeps that were killed: ours, that nobody holds, and not made this minute, when they are locked next.
void remove_left_folders() {
  std::error_code error;
  fs::directory_iterator at(fs::temp_directory_path(error), error), end;
  for (; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(text_of("isobit-", kPurpose, "-"))) continue;
    struct stat found {};
    if (::lstat(at->path().c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != ::geteuid()) continue;
    if (::time(nullptr) - found.st_mtim.tv_sec < kSecondsToLock) continue;
    const auto held = locked(at->path());
    std::error_code ignored;
    if (held) fs::remove_all(at->path(), ignored);
  }
}

// By its ELF header: 64 bits, little-endian, and the number of the machine.
bool is_program_of(const fs::path& path, const std::string& machine) {
  static const std::map<std::string, uint16_t> numbers = {{"x86_64", 62}, {"aarch64", 183}, {"riscv64", 243}};
  const auto file = PlainFile::open(path, Links::kFollow);
  std::array<uint8_t, 20> head{};
  if (!file || !file->read_exactly(0, head)) return false;
  constexpr std::array<uint8_t, 6> kElf = {0x7f, 'E', 'L', 'F', 2, 1};
  const auto number = numbers.find(machine);
  return std::equal(kElf.begin(), kElf.end(), head.begin()) && number != numbers.end() &&
         (head[18] | head[19] << 8) == number->second;
}

bool is_on_path(const std::string& program) {
  std::error_code error;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / program;
    if (fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

Workers::Workers(WorkerPlaces places, TemporaryFolder folder, Descriptor lock)
    : places_(std::move(places)),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      environment_(worker::computing_environment()) {}

Expected<Workers> Workers::prepare(const WorkerPlaces& places) {
  remove_left_folders();
  ISOBIT_TRY(TemporaryFolder folder, TemporaryFolder::make(kPurpose));
  // Held as long as these workers live, by which folders of processes that were killed are told from its own.
  // Where nothing can be locked nothing is removed either.
  Descriptor lock = locked(folder.path()).value_or(Descriptor());
  WorkerPlaces own = places;
  if (own.engines.empty()) {
    own.engines = folder.path() / "engines";
    ISOBIT_RETURN_IF_ERROR(write_scripts(own.engines));
  }
  return Workers(std::move(own), std::move(folder), std::move(lock));
}

std::vector<std::string> Workers::python_words() const {
  return {places_.python, (places_.engines / "worker.py").string()};
}

fs::path Workers::program_of(const EmulatedCpu& cpu) const {
  std::error_code error;
  // Its own name, since under an emulator the link names that.
  fs::path own = fs::is_symlink(places_.program, error) ? fs::read_symlink(places_.program, error) : places_.program;
  if (cpu.machine == this_machine().architecture) return own;
  const fs::path folder = places_.emulated.empty() ? own.parent_path() : places_.emulated;
  return folder / text_of("isobit-worker-", cpu.machine);
}

Expected<std::string> Workers::emulator_of(const EmulatedCpu& cpu) const {
  const std::string remedy = "install QEMU's emulators of user mode (Debian's package is qemu-user)";
  if (!is_on_path(cpu.emulator)) {
    return unavailable(text_of("processor '", cpu.name, "': there is no ", cpu.emulator, " on PATH; ", remedy));
  }
  std::error_code error;
  if (const fs::path program = program_of(cpu); !fs::is_regular_file(program, error)) {
    return unavailable(text_of("processor '", cpu.name, "': there is no ", program.string(), "; build it with ",
                               "'scripts/emulated_workers --out FOLDER', and name that folder with --emulated"));
  } else if (!is_program_of(program, cpu.machine)) {
    return unavailable(text_of("processor '", cpu.name, "': ", program.string(), " is no program of ", cpu.machine,
                               "; build it with 'scripts/emulated_workers --out FOLDER'"));
  }
  // "qemu-x86_64 version 7.2.22 (Debian 1:7.2+dfsg-7)", and then whose it is.
  ISOBIT_TRY(worker::OutputPipe out, worker::OutputPipe::make(kMostLastWords));
  ISOBIT_TRY(
      worker::ChildProcess process,
      worker::ChildProcess::start({{cpu.emulator, "--version"}, {}, -1, out.write_end(), -1, true, kMostOutput}));
  out.close_write_end();
  process.wait(kSecondsToTellVersion, [&] {
    out.drain();
    return out.has_lost();
  });
  out.drain();
  std::istringstream words(out.text());
  std::string name, word, version;
  words >> name >> word >> version;
  if (word != "version" || version.empty() || version.size() > kMaxVersion) {
    return unavailable(
        text_of("processor '", cpu.name, "': '", cpu.emulator, " --version' does not tell its version; ", remedy));
  }
  return text_of(cpu.emulator, " ", version);
}

Expected<std::vector<std::string>> Workers::own_words(const std::string& platform) const {
  ISOBIT_TRY(const EmulatedCpu* cpu, emulated_cpu_of(platform));
  if (cpu == nullptr) return std::vector<std::string>{places_.program.string(), kWorkerWord};
  std::vector<std::string> words = {cpu->emulator};
  if (!cpu->model.empty()) words.insert(words.end(), {"-cpu", cpu->model});
  words.insert(words.end(), {program_of(*cpu).string(), kWorkerWord});
  return words;
}

Expected<std::vector<EngineInfo>> Workers::list(const std::function<bool()>& stopped, double limit_seconds) const {
  ISOBIT_TRY(worker::OutputPipe out, worker::OutputPipe::make(kMostOutput));
  ISOBIT_TRY(worker::OutputPipe complaints, worker::OutputPipe::make(kMostLastWords));
  std::vector<std::string> words = python_words();
  words.push_back("--list");
  const std::string call = text_of("'", words[0], " ", words[1], " --list'");
  constexpr const char* kRemedy = "; name another interpreter with --python or the variable ISOBIT_PYTHON";
  // What it is asked for it prints.
  auto process =
      worker::ChildProcess::start({words, {}, -1, out.write_end(), complaints.write_end(), true, kMostOutput});
  if (!process) return unavailable(process.error().message + kRemedy);
  out.close_write_end();
  complaints.close_write_end();
  const worker::Ending ending = process->wait(limit_seconds, [&] {
    out.drain();
    complaints.drain();
    return out.has_lost() || (stopped && stopped());
  });
  out.drain();
  complaints.drain();
  using How = worker::Ending::How;
  if (out.has_lost()) {
    return unavailable(text_of(call, " printed more than ", human_bytes(kMostOutput), " and was ended", kRemedy));
  }
  if (ending.how == How::kStopped) return unavailable(text_of(call, " was stopped"));
  if (ending.how == How::kOverTime) {
    return unavailable(
        text_of(call, " gave no answer within ", human_seconds(limit_seconds), " and was ended", kRemedy));
  }
  if (ending.how != How::kExited || ending.code != 0) {
    const std::string last = last_words(complaints.text());
    return unavailable(text_of(call, " failed", last.empty() ? "" : ": ", last, kRemedy));
  }
  return decode_engines(as_bytes(out.text()), text_of("the engines that '", words[0], " ", words[1], "' lists"));
}

Expected<WorkerAnswer> Workers::run(const WorkerRequest& request, const fs::path& folder, double limit_seconds,
                                    const std::function<bool()>& stopped) const {
  std::error_code error;
  if (!fs::create_directory(folder, error)) return unavailable(text_of(folder.string(), ": cannot be made"));
  const fs::path file = folder / "request.json";
  ISOBIT_RETURN_IF_ERROR(write_new(file, encode(request)));
  std::vector<std::string> words = python_words();
  if (request.engine == kOwnEngine) {
    ISOBIT_TRY(words, own_words(request.platform));
  }
  words.push_back(file.string());
  words.push_back(folder.string());
  ISOBIT_TRY(worker::OutputPipe complaints, worker::OutputPipe::make(kMostLastWords));
  const uint64_t most = kMaxAnswer + kMostOtherFile;
  worker::ProgramCall call{words, {{"PYTHONDONTWRITEBYTECODE", "1"}}, -1, -1, complaints.write_end(), true};
  call.most_file_bytes = most + std::min(request.keep_bytes, UINT64_MAX - most);
  ISOBIT_TRY(worker::ChildProcess process, worker::ChildProcess::start(call));
  complaints.close_write_end();
  const worker::Ending ending = process.wait(limit_seconds, [&] {
    complaints.drain();
    return stopped && stopped();
  });
  complaints.drain();
  const fs::path answer = folder / "answer.json";
  if (ending.how != worker::Ending::How::kExited || ending.code != 0 || !fs::exists(answer, error)) {
    const std::string words_left = ending.how == worker::Ending::How::kStopped ? "" : last_words(complaints.text());
    return unavailable(text_of(words_of(ending, limit_seconds), words_left.empty() ? "" : ": ", words_left));
  }
  ISOBIT_TRY(const Bytes bytes, read_file(answer, kMaxAnswer, Links::kRefuse));
  ISOBIT_TRY(WorkerAnswer decoded, decode_answer(bytes, "answer.json"));
  // The worker has inherited it: nobody else is asked.
  decoded.platform.fields.erase(kEnvironmentField);
  if (!environment_.empty()) decoded.platform.fields[kEnvironmentField] = environment_;
  return decoded;
}

}  // namespace isobit::lab::measure
