// Mutations of a finished run of five steps under each arithmetic: no crash, no hang, none but the documented errors,
// and nothing accepted that claims what is not so. ISOBIT_MUTATIONS says how many in all (240 without it).
//
// Each batch of mutations runs in a process of its own, so that one that ends it is a finding and not the end. One in
// sixteen is told to the program as well, to every command that judges a run.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "isobit/run/audit_run.h"
#include "isobit/run/testing.h"
#include "tests/attacks/mutants.h"
#include "tests/attacks/program.h"

namespace isobit::attacks {
namespace {

using run::testing::audit_request;
using run::testing::Folder;

constexpr uint64_t kPerBatch = 50;
constexpr uint64_t kToldEvery = 16;
constexpr int kSecondsPerBatch = 1800;  // a busy machine is no finding; who computes without end is ended by kSpins
constexpr rlim_t kSpins = 300;          // seconds of processor time
constexpr double kMostSeconds = 10;
constexpr uint64_t kMostBytes = uint64_t{512} << 20;
constexpr size_t kGroups = 16;

struct Arithmetic {
  const char* name;
  std::vector<std::string> overrides;
};

const std::vector<Arithmetic>& arithmetics() {
  static const std::vector<Arithmetic> kAll = {
      {"ordered", {}},
      {"correct", {"job.arithmetic=correct-1"}},
      {"sparse", {"job.arithmetic=logged-1", "rounding.divergence=4096"}},
      {"ovt", {"job.arithmetic=logged-1", "rounding.log=ovt"}},
  };
  return kAll;
}

train::Job five_steps(const Arithmetic& arithmetic) {
  std::vector<std::string> overrides = {"job.steps=5",    "data.batch=4",       "evaluate.samples=8",
                                        "commit.every=2", "checkpoint.every=2", "checkpoint.keep=3"};
  overrides.insert(overrides.end(), arithmetic.overrides.begin(), arithmetic.overrides.end());
  return run::testing::small_job(overrides);
}

struct Count {
  char group[32] = {};
  uint64_t rejected = 0, unreadable = 0, accepted = 0;
};

// What a batch tells its parent, in memory that both see.
struct Tally {
  uint64_t at = 0;  // the mutation that is being judged
  Count counts[kGroups] = {};
  uint64_t wrong = 0, crashes = 0, told = 0;
  uint64_t peak = 0;   // bytes
  double slowest = 0;  // seconds of processor time of one verdict
  char what[160] = {};
  char complaint[400] = {};

  Count& of(const std::string& group) {
    for (Count& c : counts) {
      if (c.group[0] == 0) std::snprintf(c.group, sizeof c.group, "%s", group.c_str());
      if (c.group == group) return c;
    }
    ISOBIT_CHECK(false);  // more groups than kGroups
    return counts[0];
  }
  void add(const Tally& other) {
    for (const Count& c : other.counts) {
      if (c.group[0] == 0) break;
      Count& mine = of(c.group);
      mine.rejected += c.rejected, mine.unreadable += c.unreadable, mine.accepted += c.accepted;
    }
    add_all_but_counts(other);
  }
  void add_all_but_counts(const Tally& other) {
    wrong += other.wrong, crashes += other.crashes, told += other.told;
    peak = std::max(peak, other.peak), slowest = std::max(slowest, other.slowest);
  }
  Count all() const {
    Count sum;
    for (const Count& c : counts) {
      sum.rejected += c.rejected, sum.unreadable += c.unreadable, sum.accepted += c.accepted;
    }
    return sum;
  }
};

void say(char* target, size_t size, const std::string& text) { std::snprintf(target, size, "%s", text.c_str()); }

void put(const fs::path& folder, const Files& honest, const Files& files, const Files& before) {
  for (const auto& [name, data] : files) {
    const auto there = before.find(name);
    if (there != before.end() && there->second == data) continue;
    fs::create_directories((folder / name).parent_path());
    std::FILE* f = std::fopen((folder / name).c_str(), "wb");
    ISOBIT_CHECK(f != nullptr);
    ISOBIT_CHECK(data.empty() || std::fwrite(data.data(), data.size(), 1, f) == 1);
    std::fclose(f);
  }
  for (const auto& [name, data] : before) {
    if (!files.contains(name) && !honest.contains(name)) fs::remove(folder / name);
  }
}

// An error is one only where the run could not be told to be a run of this version.
bool documented(const Error& error) {
  return error.code == ErrorCode::kUnreadable && (error.message.find("newer version") != std::string::npos ||
                                                  error.message.find("not a bundle") != std::string::npos);
}

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Judge {
 public:
  Judge(const Honest& honest, const fs::path& folder, Tally& tally)
      : honest_(honest), folder_(folder), tally_(tally), program_(Program::find()) {}

  void judge(const Mutant& mutant, bool tell) {
    mutant_ = &mutant;
    const std::string claim = false_claim(honest_, mutant.files);
    const int code = judge_here(claim);
    if (tell && program_) judge_by_program(code);
  }

 private:
  void complain(const std::string& text) {
    if (tally_.wrong++ == 0) say(tally_.complaint, sizeof tally_.complaint, text_of(mutant_->what, ": ", text));
  }
  void took(double seconds, uint64_t peak) {
    tally_.slowest = std::max(tally_.slowest, seconds);
    tally_.peak = std::max(tally_.peak, peak);
    if (seconds > kMostSeconds) complain(text_of("takes ", seconds, " s of processor time"));
    if (peak > kMostBytes) complain(text_of("takes ", peak >> 20, " MiB"));
  }

  // The exit code that the verdict is worth.
  int judge_here(const std::string& claim) {
    Count& count = tally_.of(mutant_->group);
    const double begin = processor_seconds();
    const auto audited = run::audit_run(audit_request(folder_));
    took(processor_seconds() - begin, 0);
    if (!audited) {
      ++count.unreadable;
      if (!documented(audited.error())) complain(text_of("is an error: ", audited.error().message));
      return 3;
    }
    if (!audited->verdict.accepted()) {
      ++count.rejected;
      if (audited->verdict.reason.empty()) complain("is rejected without a reason");
      return 1;
    }
    ++count.accepted;
    if (!claim.empty()) complain(text_of("is accepted, with ", claim));
    return 0;
  }

  void judge_by_program(int audited) {
    const fs::path weights = folder_.string() + ".safetensors";
    for (const auto& command : commands(folder_, weights)) {
      const Ran ran = program_->run(command, folder_.string() + ".home", run::testing::key(1).public_key());
      const bool handed_out = fs::exists(weights);
      fs::remove(weights);
      ++tally_.told;
      took(ran.seconds, ran.peak);
      const std::string said = text_of("'", command.front(), "' ends with ", ran.code);
      if (ran.code < 0) ++tally_.crashes;
      if (ran.code != 0 && ran.code != 1 && ran.code != 3) complain(said);
      if (command.size() == 4 && command.front() == "audit" && ran.code != audited) {
        complain(text_of(said, ", the audit in this process with ", audited));
      }
      if (handed_out != (ran.code == 0 && command.front() == "export")) complain(text_of(said, ", weights are there"));
      if (ran.code == 0 && command.front() == "verify" && audited == 3) complain(text_of(said, ", the audit does not"));
    }
  }

  const Honest& honest_;
  const fs::path& folder_;
  Tally& tally_;
  std::optional<Program> program_;
  const Mutant* mutant_ = nullptr;
};

// In a process of its own: mutations first .. first + count - 1 of a mode.
void run_batch(const Honest& honest, Mode mode, uint64_t first, uint64_t count, const fs::path& folder, Tally& tally) {
  Files there;
  Judge judge(honest, folder, tally);
  for (uint64_t i = first; i < first + count; ++i) {
    std::mt19937_64 random(i * 3 + static_cast<uint64_t>(mode));
    const Mutant mutant = mutate(honest, mode, random);
    tally.at = i;
    say(tally.what, sizeof tally.what, mutant.what);
    put(folder, honest.files, mutant.files, there);
    there = mutant.files;
    judge.judge(mutant, i % kToldEvery == 0);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  tally.peak = std::max(tally.peak, static_cast<uint64_t>(usage.ru_maxrss) << 10);
}

// The exit status of the child; -1 if it hangs.
int wait_for(pid_t child) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSecondsPerBatch);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return status;
}

Tally in_a_child(const Honest& honest, Mode mode, uint64_t first, uint64_t count, const fs::path& folder) {
  void* memory = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ISOBIT_CHECK(memory != MAP_FAILED);
  auto* tally = new (memory) Tally;
  const pid_t child = fork();
  ISOBIT_CHECK(child >= 0);
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const rlimit spins{kSpins, kSpins};
    setrlimit(RLIMIT_CPU, &spins);
    run_batch(honest, mode, first, count, folder, *tally);
    _exit(0);
  }
  const int status = wait_for(child);
  if (status != 0) {
    ++tally->wrong, ++tally->crashes;
    say(tally->complaint, sizeof tally->complaint,
        text_of("mutation ", tally->at, " (", tally->what, status == -1 ? ") hangs" : ") ends the process, status ",
                status == -1 ? "" : text_of(status)));
  }
  const Tally out = *tally;
  munmap(memory, sizeof(Tally));
  return out;
}

uint64_t mutations() {
  const char* asked = std::getenv("ISOBIT_MUTATIONS");
  return asked == nullptr ? 240 : std::strtoull(asked, nullptr, 10);
}

std::string text(const Count& c) {
  return text_of(c.rejected + c.unreadable + c.accepted, " mutations: ", c.rejected, " rejected, ", c.unreadable,
                 " unreadable, ", c.accepted, " accepted that claim nothing else");
}

Tally& of_mode(Mode mode) {
  static Tally tallies[std::size(kModes)];
  return tallies[static_cast<size_t>(mode)];
}

class Mutations : public ::testing::TestWithParam<size_t> {};

TEST_P(Mutations, NoneCrashesAndNoFalseOneIsAccepted) {
  const Arithmetic& arithmetic = arithmetics()[GetParam()];
  const Folder folder(text_of("mutations_", arithmetic.name));
  const auto request = run::testing::train_request(folder / "honest", five_steps(arithmetic));
  ASSERT_TRUE(run::train_run(request));
  const Honest honest = honest_of(request);
  ASSERT_EQ(false_claim(honest, honest.files), "");
  ASSERT_TRUE(run::audit_run(audit_request(folder / "honest"))->verdict.accepted());

  const uint64_t each = mutations() / (std::size(kModes) * arithmetics().size());
  for (const Mode mode : kModes) {
    Tally sum;
    for (uint64_t first = 0; first < each; first += kPerBatch) {
      const fs::path place = folder / text_of("batch", first);
      const Tally t = in_a_child(honest, mode, first, std::min(kPerBatch, each - first), place);
      for (const char* left : {"", ".home", ".safetensors"}) fs::remove_all(place.string() + left);
      EXPECT_EQ(t.wrong, 0u) << t.complaint;
      EXPECT_LT(t.peak, kMostBytes);
      sum.add(t);
    }
    of_mode(mode).add(sum);
    if (mode == Mode::kRaw) {
      EXPECT_EQ(sum.all().accepted, 0u) << "a flipped bit anywhere is noticed";
    }
  }
}

// What was changed and what came of it, and one line of counts, after everything else.
class Sum : public ::testing::Environment {
 public:
  void TearDown() override {
    Tally t;
    for (const Mode mode : kModes) {
      for (const Count& c : of_mode(mode).counts) {
        if (c.group[0] != 0) std::printf("  %s, %s: %s\n", name_of(mode), c.group, text(c).c_str());
        Count& all = t.counts[0];
        all.rejected += c.rejected, all.unreadable += c.unreadable, all.accepted += c.accepted;
      }
      t.add_all_but_counts(of_mode(mode));
    }
    std::printf("%s; %s commands of the program on one in %s: %s wrong, %s crashes, longest %.2f s, largest %s MiB\n",
                text(t.all()).c_str(), text_of(t.told).c_str(), text_of(kToldEvery).c_str(), text_of(t.wrong).c_str(),
                text_of(t.crashes).c_str(), t.slowest, text_of(t.peak >> 20).c_str());
  }
};
const auto* const kSum = ::testing::AddGlobalTestEnvironment(new Sum);

INSTANTIATE_TEST_SUITE_P(Every, Mutations, ::testing::Range(size_t{0}, arithmetics().size()),
                         [](const auto& p) { return std::string(arithmetics()[p.param].name); });

}  // namespace
}  // namespace isobit::attacks
