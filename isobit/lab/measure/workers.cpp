#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <isobit_engine_workers.inc>
#include <sstream>

#include "isobit/base/text.h"
#include "isobit/lab/measure/engines.h"
#include "isobit/lab/measure/native_worker.h"
#include "isobit/lab/worker/child_process.h"

namespace isobit::lab::measure {
namespace {

constexpr const char* kPurpose = "sweep";  // in the names of folders
constexpr int kSecondsToLock = 60;         // of a folder that was made
constexpr double kSecondsToList = 120;
constexpr double kSecondsToTellVersion = 20;
constexpr uint64_t kMostOutput = 1 << 20;
constexpr size_t kMaxVersion = 100;

Status write_scripts(const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  for (const auto& [name, text] : kEngineWorkers) {
    std::ofstream file(folder / name, std::ios::binary);
    file << text;
    file.close();
    if (!file) return unavailable(text_of((folder / name).string(), ": cannot be written; free some space there"));
  }
  return {};
}

Expected<Descriptor> new_file(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return unavailable(text_of(path.string(), ": cannot be made: ", std::strerror(errno)));
  return file;
}

// The end of what a process has written there, as far as it is worth showing: its last line that is not empty.
std::string last_words(const fs::path& path) {
  constexpr uint64_t kMost = 4096;
  const auto file = PlainFile::open(path, Links::kRefuse);
  if (!file || file->size() == 0) return "";
  const uint64_t from = file->size() > kMost ? file->size() - kMost : 0;
  std::vector<uint8_t> bytes(file->size() - from);
  const auto read = file->read_at(from, bytes);
  std::string text(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(read.value_or(0)));
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

Expected<Workers> Workers::prepare(const WorkerPlaces& places) {
  remove_left_folders();
  ISOBIT_TRY(TemporaryFolder folder, TemporaryFolder::make(kPurpose));
  // Held as long as this process lives, by which folders of processes that were killed are told from its own.
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
  }
  // "qemu-x86_64 version 7.2.22 (Debian 1:7.2+dfsg-7)", and then whose it is.
  const fs::path out = folder() / text_of(cpu.name, ".version");
  ISOBIT_TRY(const Descriptor out_file, new_file(out));
  ISOBIT_TRY(worker::ChildProcess process,
             worker::ChildProcess::start({{cpu.emulator, "--version"}, {}, -1, out_file.get(), -1, true}));
  process.wait(kSecondsToTellVersion);
  ISOBIT_TRY(const Bytes said, read_file(out, kMostOutput));
  std::istringstream words(std::string(said.begin(), said.end()));
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

Expected<std::vector<EngineInfo>> Workers::list() const {
  const fs::path out = folder() / "engines.json", error = folder() / "engines.log";
  ISOBIT_TRY(const Descriptor out_file, new_file(out));
  ISOBIT_TRY(const Descriptor error_file, new_file(error));
  std::vector<std::string> words = python_words();
  words.push_back("--list");
  constexpr const char* kRemedy = "; name another interpreter with --python or the variable ISOBIT_PYTHON";
  auto process = worker::ChildProcess::start({words, {}, -1, out_file.get(), error_file.get(), true});
  if (!process) return unavailable(process.error().message + kRemedy);
  const worker::Ending ending = process->wait(kSecondsToList);
  if (ending.how != worker::Ending::How::kExited || ending.code != 0) {
    return unavailable(text_of("'", words[0], " ", words[1], " --list' failed: ", last_words(error), kRemedy));
  }
  ISOBIT_TRY(const Bytes bytes, read_file(out, kMostOutput));
  return decode_engines(bytes, text_of("the engines that '", words[0], " ", words[1], "' lists"));
}

Expected<WorkerAnswer> Workers::run(const WorkerRequest& request, const fs::path& folder, double limit_seconds,
                                    const std::function<bool()>& stopped) const {
  std::error_code error;
  if (!fs::create_directory(folder, error)) return unavailable(text_of(folder.string(), ": cannot be made"));
  const fs::path file = folder / "request.json", log = folder / "worker.log";
  std::ofstream(file, std::ios::binary) << encode(request);
  std::vector<std::string> words = python_words();
  if (request.engine == kOwnEngine) {
    ISOBIT_TRY(words, own_words(request.platform));
  }
  words.push_back(file.string());
  words.push_back(folder.string());
  ISOBIT_TRY(const Descriptor log_file, new_file(log));
  ISOBIT_TRY(worker::ChildProcess process,
             worker::ChildProcess::start({words, {{"PYTHONDONTWRITEBYTECODE", "1"}}, -1, -1, log_file.get(), true}));
  const worker::Ending ending = process.wait(limit_seconds, stopped);
  const fs::path answer = folder / "answer.json";
  if (ending.how != worker::Ending::How::kExited || ending.code != 0 || !fs::exists(answer, error)) {
    const std::string words_left = ending.how == worker::Ending::How::kStopped ? "" : last_words(log);
    return unavailable(text_of(words_of(ending, limit_seconds), words_left.empty() ? "" : ": ", words_left));
  }
  ISOBIT_TRY(const Bytes bytes, read_file(answer, kMaxAnswer, Links::kRefuse));
  return decode_answer(bytes, "answer.json");
}

}  // namespace isobit::lab::measure
