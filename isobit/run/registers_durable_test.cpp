// What the registers have made durable when they return, and what they say where the disk does not.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "isobit/base/new_file.h"
#include "isobit/run/keys.h"
#include "isobit/run/registers.h"
#include "isobit/run/testing.h"

namespace {

// The paths that fsync was called on, and which of its calls fails (0: the next one; -1: none).
std::vector<std::string> synced;
int fails_at = -1;

}  // namespace

// In the place of the C library's, for everything in this program.
extern "C" int fsync(int fd) {
  char path[4096];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  synced.emplace_back(path, size < 0 ? 0 : static_cast<size_t>(size));
  if (fails_at >= 0 && fails_at-- == 0) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace isobit::run {
namespace {

using testing::Folder;
using testing::run_id;

commit::PublicKey public_key(uint8_t seed) { return testing::key(seed).public_key(); }

// Every kind of note, and whether the same one is taken again.
struct Note {
  const char* kind;
  bool twice;
  std::function<Status(const fs::path& home)> make;
};
std::vector<Note> notes() {
  return {{"begun", true,
           [](const fs::path& home) {
             return note_begun(home, run_id(1), {"/runs/a", {}});
           }},
          {"offered", false, [](const fs::path& home) { return note_offered(home, run_id(1), commit::Digest{}); }},
          {"judged", true, [](const fs::path& home) -> Status {
             ISOBIT_RETURN_IF_ERROR(note_judged(home, {public_key(1), public_key(2), run_id(1)}, commit::Digest{}));
             return {};
           }}};
}

bool was_synced(const fs::path& folder) {
  return std::find(synced.begin(), synced.end(), fs::canonical(folder).string()) != synced.end();
}

// Does so with the call of that number failing; whether there were so many.
bool with_failure(int call, const std::function<void()>& act) {
  synced.clear();
  fails_at = call;
  act();
  const bool failed = fails_at < 0;
  fails_at = -1;
  return failed;
}

std::vector<fs::path> folders_in(const fs::path& home) {
  std::vector<fs::path> folders = {home};
  for (const auto& entry : fs::recursive_directory_iterator(home)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  return folders;
}

TEST(DurableRegisters, EveryFolderThatIsMadeIsPrivateAndDurableInTheOneThatHoldsIt) {
  for (const Note& note : notes()) {
    const Folder folder("durable");
    const fs::path home = folder / "config" / "isobit";
    const mode_t before = ::umask(0);
    synced.clear();
    const Status made = note.make(home);
    ::umask(before);
    ASSERT_TRUE(made) << note.kind;
    EXPECT_TRUE(was_synced(folder / "")) << note.kind;
    EXPECT_TRUE(was_synced(folder / "config")) << note.kind;
    for (const fs::path& each : folders_in(home)) {
      EXPECT_TRUE(was_synced(each)) << each;
      struct stat info {};
      ASSERT_EQ(::stat(each.c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 07777, 0700u) << each;
    }
  }
}

// The same where the keys are what comes first.
TEST(DurableRegisters, AHomeThatKeysMakeIsPrivate) {
  const Folder folder("private");
  const mode_t before = ::umask(0);
  const auto made = own_key(folder / "home", "client");
  ::umask(before);
  ASSERT_TRUE(made);
  struct stat info {};
  ASSERT_EQ(::stat((folder / "home").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

// Whichever call fails: nothing may be signed, and nobody else was faster. Who tries again makes durable what was not.
TEST(DurableRegisters, ADiskThatFailsIsSaidAndIsNoEntryOfAnother) {
  for (const Note& note : notes()) {
    int calls = 0;
    for (bool failed = true; failed; ++calls) {
      ASSERT_LT(calls, 100);
      const Folder folder("failing");
      const fs::path home = folder / "config" / "home";
      Status made;
      failed = with_failure(calls, [&] { made = note.make(home); });
      EXPECT_EQ(made.has_value(), !failed) << note.kind << " call " << calls;
      if (made) continue;
      EXPECT_EQ(made.error().code, ErrorCode::kUnavailable) << made.error().message;
      const fs::path not_durable = synced.back();
      synced.clear();
      const Status again = note.make(home);
      EXPECT_TRUE(again || !note.twice) << note.kind << " call " << calls << ": " << again.error().message;
      EXPECT_TRUE(was_synced(home.parent_path())) << note.kind << " call " << calls;
      if (fs::is_directory(not_durable)) {
        EXPECT_TRUE(was_synced(not_durable)) << not_durable << " call " << calls;
      }
    }
    EXPECT_GT(calls, 4) << note.kind;
  }
}

// It would be taken for durable by who finds it. A relative name is held by the current folder.
TEST(DurableRegisters, AFolderThatIsNotDurableIsTakenAwayAgain) {
  const Folder folder("relative");
  const fs::path before = fs::current_path();
  fs::current_path(folder / "");
  Status made;
  EXPECT_TRUE(with_failure(0, [&] { made = make_folder_durably("home", 0700); }));
  fs::current_path(before);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(made.error().message.rfind(".: cannot make the folder durable: ", 0), 0u) << made.error().message;
  EXPECT_FALSE(fs::exists(folder / "home"));
}

// Whoever made the entry may have ended before it was durable.
TEST(DurableRegisters, WhatIsThereAlreadyIsMadeDurableBeforeItIsReliedOn) {
  for (const Note& note : notes()) {
    if (!note.twice) continue;
    const Folder folder("again");
    const fs::path home = folder / "home";
    ASSERT_TRUE(note.make(home));
    synced.clear();
    ASSERT_TRUE(note.make(home)) << note.kind;
    EXPECT_TRUE(was_synced(home.parent_path())) << note.kind;
    for (const fs::path& each : folders_in(home)) EXPECT_TRUE(was_synced(each)) << each;
    const int calls = static_cast<int>(synced.size());
    for (int at = 0; at < calls; ++at) {
      fails_at = at;
      const Status made = note.make(home);
      fails_at = -1;
      ASSERT_FALSE(made) << note.kind << " call " << at;
      EXPECT_EQ(made.error().code, ErrorCode::kUnavailable) << made.error().message;
    }
  }
}

}  // namespace
}  // namespace isobit::run
