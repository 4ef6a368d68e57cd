#include "isobit/run/registers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "isobit/run/keys.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::Folder;
using testing::run_id;

commit::Digest digest(uint8_t fill) {
  commit::Digest d{};
  d.fill(fill);
  return d;
}

TEST(Registers, NamedInputsAreKeptAndTakeAVersionOfTheirOwn) {
  Folder folder("begun_inputs");
  const fs::path home = folder / "home";
  BegunRun run{"/runs/a", {}};
  run.paths.inputs = {{"image", "/data/a.npy"}, {"text", "/data/b.npy"}};
  ASSERT_TRUE(note_begun(home, run_id(1), run));
  EXPECT_EQ(find_begun(home, run_id(1)).value(), run);
  run.paths.test_inputs = run.paths.inputs;
  ASSERT_TRUE(note_begun(home, run_id(2), run));
  EXPECT_EQ(find_begun(home, run_id(2)).value(), run);
  EXPECT_FALSE(note_begun(home, run_id(1), {"/runs/b", {}}));
  // Of a run without them the bytes are what they always were.
  ASSERT_TRUE(note_begun(home, run_id(3), {"/runs/a", {}}));
  const Bytes plain = read_file(home / "begun" / to_hex(run_id(3)), 1 << 20).value();
  EXPECT_EQ(plain[8 + 12], 1) << "the version follows the tag";
  EXPECT_EQ(read_file(home / "begun" / to_hex(run_id(1)), 1 << 20).value()[8 + 12], 2);
}

TEST(Registers, AsDoFilesOfANetworkAndOfATokenizer) {
  Folder folder("begun_files");
  const fs::path home = folder / "home";
  BegunRun run{"/runs/a", {}};
  run.paths.weights = "/w";
  ASSERT_TRUE(note_begun(home, run_id(1), run));
  run.paths.encoder = "/encoder.json";
  run.paths.merges = "/vocab.bpe";
  run.paths.token_cache = "/tokens";
  ASSERT_TRUE(note_begun(home, run_id(2), run));
  EXPECT_EQ(find_begun(home, run_id(2)).value(), run);
  EXPECT_EQ(read_file(home / "begun" / to_hex(run_id(1)), 1 << 20).value()[8 + 12], 3);
  EXPECT_EQ(read_file(home / "begun" / to_hex(run_id(2)), 1 << 20).value()[8 + 12], 4);
}

TEST(Registers, ARunIdIsBegunOnce) {
  Folder folder("begun");
  const fs::path home = folder / "home";
  const BegunRun run{"/runs/a \"b\"\n", {"/data/x", "", "/t", "", {"/f1", "/f2"}, {"/g"}, "/salt", {}, {}}};
  EXPECT_FALSE(find_begun(home, run_id(1)).value());
  ASSERT_TRUE(note_begun(home, run_id(1), run));
  EXPECT_EQ(find_begun(home, run_id(1)).value(), run);
  EXPECT_FALSE(find_begun(home, run_id(2)).value());
  EXPECT_TRUE(note_begun(home, run_id(1), run)) << "the very same run, killed before its first head";
  const Status other = note_begun(home, run_id(1), {"/runs/b", {}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUsage);
  EXPECT_NE(other.error().message.find("/runs/a"), std::string::npos) << other.error().message;
  EXPECT_EQ(find_begun(home, run_id(1)).value(), run) << "an entry is never changed";
}

TEST(Registers, OfAllWhoTryAtOnceOneBegins) {
  Folder folder("race");
  for (uint8_t round = 0; round < 20; ++round) {
    std::atomic<int> begun{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        begun += note_begun(folder / "home", run_id(round), {text_of("/runs/", i), {}}).has_value();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(begun.load(), 1);
  }
}

TEST(Registers, ARunIdIsOfferedOnce) {
  Folder folder("offered");
  EXPECT_TRUE(note_offered(folder / "home", run_id(1), digest(1)));
  EXPECT_EQ(note_offered(folder / "home", run_id(1), digest(1)).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(note_offered(folder / "home", run_id(2), digest(1)));
}

TEST(Registers, TheFirstTranscriptJudgedStays) {
  Folder folder("judged");
  const fs::path home = folder / "home";
  const commit::PublicKey client = testing::key(1).public_key(), other = testing::key(2).public_key();
  const commit::PublicKey trainer = testing::key(3).public_key();
  EXPECT_EQ(find_judged(home, {client, trainer, run_id(1)}).value(), std::nullopt);
  EXPECT_FALSE(fs::exists(home)) << "who looks leaves nothing";
  EXPECT_EQ(note_judged(home, {client, trainer, run_id(1)}, digest(1)).value(), digest(1));
  EXPECT_EQ(note_judged(home, {client, trainer, run_id(1)}, digest(1)).value(), digest(1));
  EXPECT_EQ(find_judged(home, {client, trainer, run_id(1)}).value(), digest(1));
  EXPECT_EQ(find_judged(home, {other, trainer, run_id(1)}).value(), std::nullopt);
  EXPECT_EQ(note_judged(home, {client, trainer, run_id(1)}, digest(2)).value(), digest(1));
  EXPECT_EQ(note_judged(home, {client, trainer, run_id(2)}, digest(2)).value(), digest(2));
  EXPECT_EQ(note_judged(home, {other, trainer, run_id(1)}, digest(3)).value(), digest(3)) << "another client's run ids";
  EXPECT_EQ(note_judged(home, {client, other, run_id(1)}, digest(4)).value(), digest(4)) << "another trainer's run";
  EXPECT_EQ(note_judged(home, {client, trainer, run_id(1)}, digest(4)).value(), digest(1));
}

// Each function of a register at `home` says that it cannot know.
void all_are_at_a_loss(const fs::path& home, const char* what) {
  const commit::PublicKey key = testing::key(1).public_key();
  const auto judged = note_judged(home, {key, key, run_id(1)}, digest(1));
  const auto begun = find_begun(home, run_id(1));
  const Status begins = note_begun(home, run_id(1), {"/runs/a", {}});
  const Status moves = note_moved(home, run_id(1), "/runs/b");
  const Status offered = note_offered(home, run_id(1), digest(1));
  for (const Error* error :
       {judged ? nullptr : &judged.error(), begun ? nullptr : &begun.error(), begins ? nullptr : &begins.error(),
        moves ? nullptr : &moves.error(), offered ? nullptr : &offered.error()}) {
    ASSERT_TRUE(error != nullptr) << what;
    EXPECT_EQ(error->code, ErrorCode::kUnavailable) << error->message;
    EXPECT_NE(error->message.find(home.string()), std::string::npos) << error->message;
    EXPECT_NE(error->message.find("--keys"), std::string::npos) << error->message;
  }
}

void in_each_register(const fs::path& home, const std::function<void(const fs::path&)>& change) {
  for (const char* kind : {"begun", "offered", "judged"}) change(home / kind);
}

// "Not begun" is said only where the system says that there is nothing: a run id that only looks free would be signed
// for twice.
TEST(Registers, WhatCannotBeSeenIsNotTakenForNothing) {
  Folder folder("unseen");
  const fs::path home = folder / "home";
  fs::create_directories(home);
  in_each_register(home, [](const fs::path& kind) { fs::create_symlink(kind.filename(), kind); });
  all_are_at_a_loss(home, "the folder leads round in a circle");
  in_each_register(home, [](const fs::path& kind) {
    fs::remove(kind);
    EXPECT_TRUE(write_file_durably(kind, {}));
  });
  all_are_at_a_loss(home, "the folder is a file");
}

TEST(Registers, WhatIsClosedIsNotTakenForNothing) {
  if (::geteuid() == 0) GTEST_SKIP() << "permissions do not bind root";
  Folder folder("closed");
  const fs::path home = folder / "home";
  const commit::PublicKey key = testing::key(1).public_key();
  ASSERT_TRUE(note_begun(home, run_id(1), {"/runs/a", {}}));
  ASSERT_TRUE(note_offered(home, run_id(1), digest(1)));
  ASSERT_TRUE(note_judged(home, {key, key, run_id(1)}, digest(1)));
  in_each_register(home, [](const fs::path& kind) { fs::permissions(kind, fs::perms::none); });
  all_are_at_a_loss(home, "the folder is closed");
  in_each_register(home, [](const fs::path& kind) { fs::permissions(kind, fs::perms::owner_all); });
  for (const fs::path& entry : {home / "begun" / to_hex(run_id(1)), home / "offered" / to_hex(run_id(1)),
                                home / "judged" / commit::hex_of(key) / commit::hex_of(key) / to_hex(run_id(1))}) {
    fs::permissions(entry, fs::perms::none);
  }
  all_are_at_a_loss(home, "the entry is closed");
}

TEST(Registers, DamageIsSaidAndAccusesNobody) {
  Folder folder("damage");
  const fs::path home = folder / "home";
  const commit::PublicKey client = testing::key(1).public_key(), trainer = testing::key(3).public_key();
  ASSERT_TRUE(note_judged(home, {client, trainer, run_id(1)}, digest(1)));
  ASSERT_TRUE(note_begun(home, run_id(1), {"/runs/a", {}}));
  for (const fs::path& entry : {home / "judged" / commit::hex_of(client) / commit::hex_of(trainer) / to_hex(run_id(1)),
                                home / "begun" / to_hex(run_id(1))}) {
    const Bytes good = read_file(entry, 1 << 20).value();
    const auto notes = [&] {
      const auto judged = note_judged(home, {client, trainer, run_id(1)}, digest(1));
      const auto begun = find_begun(home, run_id(1));
      return !judged ? judged.error() : !begun ? begun.error() : Error{ErrorCode::kUsage, "found nothing wrong"};
    };
    for (size_t bit = 0; bit < good.size() * 8; bit += 9) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      ASSERT_TRUE(write_file_durably(entry, bad));
      const Error error = notes();
      ASSERT_EQ(error.code, ErrorCode::kUnreadable) << bit << error.message;
      EXPECT_NE(error.message.find(entry.string()), std::string::npos) << error.message;
    }
    ASSERT_TRUE(write_file_durably(entry, {}));
    EXPECT_EQ(notes().code, ErrorCode::kUnreadable);
    ASSERT_TRUE(write_file_durably(entry, good));
  }
}

TEST(Keys, NothingComesFromTheCurrentFolder) {
  std::map<std::string, std::string> set;
  const auto folder = [&](const std::string& named = "") {
    return key_folder(named, [&](const char* name) { return set[name]; });
  };
  const auto complains = [&](const char* says) {
    const auto found = folder();
    EXPECT_FALSE(found);
    if (found) return false;
    EXPECT_EQ(found.error().code, ErrorCode::kUsage);
    return found.error().message.find(says) != std::string::npos &&
           found.error().message.find("ISOBIT_HOME") != std::string::npos;
  };
  EXPECT_TRUE(complains("Neither"));
  EXPECT_EQ(folder("mine").value(), "mine");
  set = {{"HOME", "."}};
  EXPECT_TRUE(complains("HOME: found '.', expected an absolute path"));
  set = {{"HOME", "/h"}};
  EXPECT_EQ(folder().value(), "/h/.config/isobit");
  set["XDG_CONFIG_HOME"] = "config";
  EXPECT_TRUE(complains("XDG_CONFIG_HOME: found 'config'"));
  set["XDG_CONFIG_HOME"] = "/c";
  EXPECT_EQ(folder().value(), "/c/isobit");
  set["ISOBIT_HOME"] = "/i";
  EXPECT_EQ(folder().value(), "/i");
}

TEST(Keys, AreMadeOnceAndBelongTogether) {
  Folder folder("own_key");
  const fs::path home = folder / "home";
  EXPECT_EQ(existing_key(home, "trainer").error().code, ErrorCode::kUnreadable);
  const OwnKey made = own_key(home, "trainer").value();
  EXPECT_TRUE(made.created);
  const OwnKey again = own_key(home, "trainer").value();
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.key.public_key(), made.key.public_key());
  EXPECT_EQ(existing_key(home, "trainer")->public_key(), made.key.public_key());
  ASSERT_TRUE(own_key(home, "client"));
  fs::copy_file(home / "client.pub", home / "trainer.pub", fs::copy_options::overwrite_existing);
  const auto mixed = own_key(home, "trainer");
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(mixed.error().message.find("trainer.pub"), std::string::npos) << mixed.error().message;
}

TEST(Registers, ARunThatMovedKeepsTheRestOfItsEntry) {
  const Folder folder("moved");
  const fs::path home = folder / "home";
  EXPECT_EQ(note_moved(home, run_id(1), "/runs/b").error().code, ErrorCode::kUsage) << "nothing has begun";
  BegunRun run{"/runs/a", {}};
  run.paths.path = "/data/digits";
  ASSERT_TRUE(note_begun(home, run_id(1), run));
  ASSERT_TRUE(note_moved(home, run_id(1), "/runs/b"));
  run.folder = "/runs/b";
  EXPECT_EQ(find_begun(home, run_id(1)).value(), run);
  EXPECT_TRUE(note_begun(home, run_id(1), run));
  EXPECT_FALSE(note_begun(home, run_id(1), {"/runs/a", {}}));
}

// What makes a kept state worth believing: it is the same after another process read it, and a byte that rotted is an
// error, never another step.
TEST(Registers, HowFarAReplayHasCome) {
  Folder folder("kept");
  const fs::path home = folder / "home";
  const JudgedRun run{testing::key(1).public_key(), testing::key(2).public_key(), run_id(1)};
  EXPECT_TRUE(find_kept(home, run).value().empty());
  KeptReplay older{8, digest(1), 1.5, {7, 3}, {}}, newer{12, digest(2), -0.25, {}, {}};
  newer.log_counts["Conv"] = {.elements = 40, .entries = 5, .beyond = 1};
  newer.log_counts["MatMul"] = {.needed = 2, .missing = 3};
  ASSERT_TRUE(note_kept(home, run, {older}));
  ASSERT_TRUE(note_kept(home, run, {older, newer}));
  const auto found = find_kept(home, run).value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].step, 8u);
  EXPECT_EQ(found[0].step_seconds, 1.5);
  EXPECT_EQ(found[0].repairs.repaired, 3);
  EXPECT_EQ(found[1].history, digest(2));
  EXPECT_EQ(found[1].log_counts.at("Conv").entries, 5u);
  EXPECT_EQ(found[1].log_counts.at("Conv").beyond, 1u);
  EXPECT_EQ(found[1].log_counts.at("MatMul").missing, 3u);
  JudgedRun other = run;
  other.trainer = testing::key(3).public_key();
  EXPECT_TRUE(find_kept(home, other).value().empty());
  const fs::path entry = home / "kept" / commit::hex_of(run.client) / commit::hex_of(run.trainer) / to_hex(run.run_id);
  const Bytes good = read_file(entry, 1 << 20).value();
  for (size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 1;
    ASSERT_TRUE(write_file_durably(entry, bad));
    EXPECT_EQ(find_kept(home, run).error().code, ErrorCode::kUnreadable) << at;
  }
}

}  // namespace
}  // namespace isobit::run
