// Files that change while they are audited, each of them (ISOBIT_SWAPS: more often at random). What is accepted is what
// was read: a false run never, whichever of its files an honest one takes the place of in time; and nothing hangs or
// crashes on a file that is no longer what it was.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>

#include "isobit/base/whole_for_test.h"
#include "isobit/run/audit_run.h"
#include "isobit/run/testing.h"
#include "tests/attacks/mutants.h"

namespace isobit::attacks {
namespace {

using run::testing::audit_request;
using run::testing::Folder;

void put(const fs::path& path, const Bytes& data) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
}

void put_all(const fs::path& folder, const Files& files) {
  fs::remove_all(folder);
  for (const auto& [name, data] : files) put(folder / name, data);
}

// As a whole, in one instant.
void replace(const fs::path& spare, const fs::path& path, const Bytes& data) {
  put(spare, data);
  fs::rename(spare, path);
}

// Until it goes, `act` comes before each open and read of our own code: the linker leads these here (CMakeLists.txt).
class Interference {
 public:
  explicit Interference(std::function<void()> act) {
    const std::lock_guard<std::mutex> lock(acting_);
    act_ = std::move(act);
  }
  ~Interference() {
    const std::lock_guard<std::mutex> lock(acting_);
    act_ = nullptr;
  }
  Interference(const Interference&) = delete;
  Interference& operator=(const Interference&) = delete;
  static void come() {
    const std::lock_guard<std::mutex> lock(acting_);
    if (act_) act_();
  }

 private:
  static inline std::mutex acting_;
  static inline std::function<void()> act_;
};

// An arithmetic and a way to audit.
class Swap : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    alarm(1800);  // whoever waits for a pipe; a busy machine is no finding
    std::vector<std::string> overrides = {"job.steps=5",    "data.batch=4",       "evaluate.samples=8",
                                          "commit.every=2", "checkpoint.every=2", "checkpoint.keep=3"};
    if (logged()) overrides.insert(overrides.end(), {"job.arithmetic=logged-1"});
    const auto request = run::testing::train_request(folder_ / "trained", run::testing::small_job(overrides));
    ASSERT_TRUE(run::train_run(request));
    honest_ = honest_of(request);
    false_ = overwritten(*honest_);
  }
  void TearDown() override { alarm(0); }
  static void TearDownTestSuite() { std::printf("%d audits of runs that changed meanwhile\n", audits_); }

  bool logged() const { return std::get<0>(GetParam()) == std::string("sparse"); }
  std::string way() const { return std::get<1>(GetParam()); }
  run::AuditRequest request() const { return audit_request(folder_ / "run", way(), 2); }

  // The audit of `before`, in which `act` happens after step `at` has been replayed.
  Expected<run::AuditSummary> audit(const Files& before, uint64_t at, const std::function<void()>& act,
                                    uint8_t seed = 5) {
    put_all(folder_ / "run", before);
    run::AuditRequest asked = request();
    if (asked.sample) asked.sample_seed = Bytes(32, seed);
    asked.progress = [&](uint64_t done, uint64_t) {
      if (done == at) act();
    };
    ++audits_;
    return run::audit_run(asked);
  }
  bool accepted(const Files& before, uint64_t at, const std::function<void()>& act) {
    const auto audited = audit(before, at, act);
    return audited && audited->verdict.accepted();
  }

  void swap(const std::string& name, const Files& to) {
    replace(folder_ / "spare", folder_ / "run" / name, to.at(name));
  }

  static inline int audits_ = 0;  // of all tests

  Folder folder_{text_of("swap_", std::get<0>(GetParam()), "_", std::get<1>(GetParam()))};
  std::optional<Honest> honest_;
  Files false_;
};

TEST_P(Swap, TheTwoRunsAreWhatTheyAreMeantToBe) {
  const auto nothing = [] {};
  EXPECT_TRUE(accepted(honest_->files, 1, nothing));
  EXPECT_FALSE(accepted(false_, 1, nothing));
  EXPECT_EQ(false_claim(*honest_, false_), "other leaves");
}

TEST_P(Swap, AnHonestFileInTimeDoesNotSaveAFalseRun) {
  uint64_t number = 0;  // each file after one of the steps, in turn; the whole test after each
  for (const auto& [name, data] : honest_->files) {
    ++number;
    for (uint64_t at = 1; at <= 5; at += 2) {
      if (at / 2 != number % 3 && !whole_test()) continue;
      EXPECT_FALSE(accepted(false_, at, [&] { swap(name, honest_->files); })) << name << " after step " << at;
    }
  }
  EXPECT_FALSE(accepted(false_, 1, [&] {
    for (const auto& [name, data] : honest_->files) swap(name, honest_->files);
  })) << "all files";
}

// What is read again is compared again. In place: a file that was opened before stays the same file. It was whole when
// the audit began, so this accuses nobody.
class SwapOfALog : public Swap {};
TEST_P(SwapOfALog, IsNoticedWhenItIsRead) {
  Bytes changed = honest_->files.at("log/segments");
  for (uint8_t& b : changed) b ^= 0x10;
  const auto audited = audit(honest_->files, 1, [&] { put(folder_ / "run" / "log/segments", changed); });
  ASSERT_FALSE(audited) << audited->verdict.reason;
  EXPECT_EQ(audited.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(audited.error().message.find("log/segments: has SHA-256"), std::string::npos) << audited.error().message;
  EXPECT_NE(audited.error().message.find("when the audit began"), std::string::npos) << audited.error().message;
}

// A sample comes to its checkpoints when it has replayed what was drawn before them. They were all whole when it began,
// so the trainer signed for what it should find; that one of them is another now accuses nobody.
class SwapInASample : public Swap {};
TEST_P(SwapInASample, ACheckpointExchangedBetweenTwoReplaysAccusesNobody) {
  Bytes changed = honest_->files.at("checkpoints/step-4.safetensors");
  changed.back() ^= 1;
  int noticed = 0;
  for (uint8_t seed = 0; seed < 8; ++seed) {
    const auto act = [&] { put(folder_ / "run" / "checkpoints/step-4.safetensors", changed); };
    const auto audited = audit(honest_->files, 1, act, seed);
    if (audited) {  // what was drawn leads on to step 4 without the checkpoint
      EXPECT_TRUE(audited->verdict.accepted()) << audited->verdict.reason;
      continue;
    }
    ++noticed;
    EXPECT_EQ(audited.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(audited.error().message.find("step-4.safetensors: has SHA-256"), std::string::npos)
        << audited.error().message;
    EXPECT_NE(audited.error().message.find("when the audit began"), std::string::npos) << audited.error().message;
  }
  EXPECT_GT(noticed, 0);
  EXPECT_LT(noticed, 8);
}

TEST_P(Swap, AFileThatIsNoFileAnyMoreNeitherHangsNorCrashes) {
  const std::vector<std::function<void(const fs::path&, size_t)>> all = {
      [](const fs::path& path, size_t) { fs::remove(path); },
      [](const fs::path& path, size_t) { fs::resize_file(path, 0); },
      [](const fs::path& path, size_t size) { fs::resize_file(path, size / 2); },
      [](const fs::path& path, size_t) { fs::resize_file(path, uint64_t{1} << 40); },
      [](const fs::path& path, size_t) { fs::remove(path), fs::create_directory(path); },
      [](const fs::path& path, size_t) { fs::remove(path), fs::create_symlink("/dev/zero", path); },
      [](const fs::path& path, size_t) { fs::remove(path), ISOBIT_CHECK(mkfifo(path.c_str(), 0600) == 0); }};
  // Every file by two of the seven in each way to audit, by six of them in all three; the whole test by all in each.
  size_t number =
      static_cast<size_t>(std::ranges::find(run::testing::kWays, way()) - std::begin(run::testing::kWays)) * 2;
  for (const auto& [name, data] : honest_->files) {
    const fs::path path = folder_ / "run" / name;
    for (size_t i = 0; i < (whole_test() ? all.size() : 2); ++i) {
      accepted(honest_->files, 1, [&, at = (number + i) % all.size()] { all[at](path, data.size()); });
    }
    ++number;
  }
}

// One file, or all of them, go back and forth between the two runs, at any of the moments at which it could matter: as
// chance has it, right before a file is opened or read.
TEST_P(Swap, BackAndForthAllTheTime) {
  const char* asked = std::getenv("ISOBIT_SWAPS");
  const int audits = asked == nullptr ? 3 : std::atoi(asked);
  std::mt19937_64 random(5);
  uint64_t swaps = 0;
  for (const std::string& name :
       {std::string("transcript"), std::string("heads"), std::string("manifest.json"), std::string("manifest.sig"),
        std::string("checkpoints/step-5.safetensors"), std::string()}) {
    put_all(folder_ / "run", name.empty() ? honest_->files : false_);
    bool good = name.empty();
    for (int i = 0; i < audits; ++i, ++audits_) {
      const Interference interference([&] {
        if (random() % 4 != 0) return;
        good = !good;
        for (const auto& [file, data] : honest_->files) {
          if (name.empty() || file == name) swap(file, good ? honest_->files : false_), ++swaps;
        }
      });
      const auto audited = run::audit_run(request());
      if (!audited || !audited->verdict.accepted()) continue;
      EXPECT_EQ(name, "") << "one honest file among false ones";
    }
  }
  EXPECT_GT(swaps, static_cast<uint64_t>(6 * audits)) << "more than one in an audit";
}

const auto kArithmetics = ::testing::Values("ordered", "sparse");
const auto kAllWays = ::testing::ValuesIn(run::testing::kWays);
std::string name_of_case(const ::testing::TestParamInfo<Swap::ParamType>& p) {
  return text_of(std::get<0>(p.param), "_", std::get<1>(p.param));
}
INSTANTIATE_TEST_SUITE_P(Each, Swap, ::testing::Combine(kArithmetics, kAllWays), name_of_case);
INSTANTIATE_TEST_SUITE_P(Each, SwapOfALog, ::testing::Combine(::testing::Values("sparse"), kAllWays), name_of_case);
INSTANTIATE_TEST_SUITE_P(Each, SwapInASample, ::testing::Combine(kArithmetics, ::testing::Values("sample")),
                         name_of_case);

}  // namespace
}  // namespace isobit::attacks

// The names are the linker's.
extern "C" {
int __real_open(const char* path, int flags, ...);
ssize_t __real_pread(int fd, void* data, size_t n, off_t offset);

int __wrap_open(const char* path, int flags, ...) {
  isobit::attacks::Interference::come();
  va_list more;
  va_start(more, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : mode_t{0};
  va_end(more);
  return __real_open(path, flags, mode);
}
ssize_t __wrap_pread(int fd, void* data, size_t n, off_t offset) {
  isobit::attacks::Interference::come();
  return __real_pread(fd, data, n, offset);
}
}
