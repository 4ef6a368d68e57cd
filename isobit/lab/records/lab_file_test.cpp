#include "isobit/lab/records/lab_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "isobit/lab/records/encoding.h"
#include "isobit/lab/records/lab_folder_for_test.h"

namespace isobit::lab::records {
namespace {

using testing::HasSubstr;
using LabFileTest = LabFolder;

TEST_F(LabFileTest, HashIsThatOfXxhash) {
  // The test vector of the empty input, seed 0, of the published specification of XXH3.
  EXPECT_EQ(hex_of(hash_of({})), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_from_hex("99aa06d3014798d86001c324468d497f", "x").value(), hash_of({}));
  EXPECT_FALSE(hash_from_hex("99aa06d3014798d86001c324468d497", "x"));
  EXPECT_FALSE(hash_from_hex("99aa06d3014798d86001c324468d49zz", "x"));
}

TEST_F(LabFileTest, MemoryOfPlatformsAndOfAGraphIsBounded) {
  ASSERT_EQ(kMaxPlatformMemory, uint64_t{2} << 30);
  ASSERT_EQ(kMaxGraphMemory, uint64_t{2} << 30);
  make_example();
  auto lab = LabFile::open(path_, LabFile::Mode::kRead);
  const Subject subject = example_run(0).subject;
  // Runs share what is said of their platform; each has a copy of the subject.
  RunRecord second = example_run(1);
  second.repeat = 1;
  ASSERT_TRUE(LabFile::open(path_, LabFile::Mode::kWrite)->add_run(second));
  const uint64_t runs = memory_of(*example_run(0).platform) + memory_of(*second.platform) + 3 * memory_of(subject);
  EXPECT_EQ(memory_of(lab->runs(subject).value()), runs);
  EXPECT_EQ(lab->runs(subject, runs)->size(), 3u);
  const auto more = lab->runs(subject, runs - 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kUnreadable);
  EXPECT_THAT(more.error().message,
              HasSubstr("a.lab: what its runs say of platforms and of their subject takes more than "));
  const std::vector<GraphNode> nodes = example_graph();
  const uint64_t graph = memory_of(nodes[0]) + memory_of(nodes[1]);
  EXPECT_EQ(lab->graph(subject, graph).value(), nodes);
  const auto larger = lab->graph(subject, graph - 1);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, ErrorCode::kUnreadable);
  EXPECT_THAT(larger.error().message, HasSubstr("a.lab: the graph of 'm.onnx' takes more than "));
  // Nor is more put into a lab.
  EXPECT_TRUE(check(nodes, graph));
  EXPECT_EQ(check(nodes, graph - 1).error().code, ErrorCode::kUsage);
}

TEST_F(LabFileTest, WhatIsSaidOfAPlatformCountsWithItsTexts) {
  PlatformRecord platform = *example_run(0).platform;
  const uint64_t before = memory_of(platform);
  platform.fields["note"] = std::string(60000, 'x');
  platform.cpu_flags.push_back(std::string(50000, 'y'));
  EXPECT_GE(memory_of(platform), before + 110004);
  GraphNode node = example_graph()[0];
  const uint64_t plain = memory_of(node);
  node.inputs.push_back(std::string(60000, 'x'));
  node.name = std::string(50000, 'y');
  EXPECT_GE(memory_of(node), plain + 110000 - 5);
}

TEST_F(LabFileTest, WhatWasAddedIsRead) {
  auto lab = LabFile::create(path_);
  ASSERT_TRUE(lab) << lab.error().message;
  const RunRecord run = example_run(0), other = example_run(1);
  ASSERT_TRUE(lab->add_run(run));
  ASSERT_TRUE(lab->add_run(other));
  ASSERT_TRUE(lab->add_run(run));  // again: nothing happens
  ASSERT_TRUE(lab->set_graph(run.subject, example_graph()));
  auto again = LabFile::open(path_, LabFile::Mode::kRead);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->subjects().value(), std::vector<Subject>{run.subject});
  EXPECT_EQ(again->platforms().value(), (std::vector<PlatformRecord>{*run.platform, *other.platform}));
  EXPECT_EQ(again->runs(run.subject).value(), (std::vector<RunRecord>{run, other}));
  EXPECT_EQ(again->graph(run.subject).value(), example_graph());
  EXPECT_FALSE(again->add_run(example_run(2)));
}

TEST_F(LabFileTest, NamesMayHoldAnything) {
  RunRecord run = example_run(0);
  run.values[0].name = std::string("'); DROP TABLE runs; --\0\xff\n", 27);
  run.subject.model = "";
  auto lab = LabFile::create(path_);
  ASSERT_TRUE(lab->add_run(run));
  EXPECT_EQ(lab->runs(run.subject).value(), std::vector<RunRecord>{run});
}

TEST_F(LabFileTest, NothingIsReplaced) {
  make_example();
  const auto again = LabFile::create(path_);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUsage);
  EXPECT_EQ(complaint(), "");
}

TEST_F(LabFileTest, RecordsBeyondLimitsAreRefusedWhole) {
  auto lab = LabFile::create(path_);
  RunRecord run = example_run(0);
  run.values.back().dims.assign(kMaxRank + 1, 1);
  EXPECT_FALSE(lab->add_run(run));
  run = example_run(0);
  run.platform.change([](PlatformRecord& p) { p.cpu_flags = {"fma", "avx2"}; });
  EXPECT_FALSE(lab->add_run(run));
  EXPECT_TRUE(lab->subjects().value().empty());
}

TEST_F(LabFileTest, TensorsAreKeptByContentUpToTheLimit) {
  auto lab = LabFile::create(path_);
  Bytes tensor(100000);
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<uint8_t>(i * i >> 7);
  EXPECT_TRUE(lab->keep(tensor, 1 << 20).value());
  EXPECT_TRUE(lab->keep(tensor, 0).value());  // is there
  EXPECT_EQ(lab->kept().value(), std::vector<Hash128>{hash_of(tensor)});
  EXPECT_EQ(lab->tensor(hash_of(tensor)).value(), std::optional<Bytes>(tensor));
  const uint64_t kept = lab->kept_bytes().value();
  EXPECT_GT(kept, 0u);
  const Bytes more = {1, 2, 3};
  EXPECT_FALSE(lab->keep(more, kept).value());
  EXPECT_EQ(lab->tensor(hash_of(more)).value(), std::nullopt);
  EXPECT_TRUE(lab->keep({}, kept + 100).value());
  EXPECT_EQ(lab->tensor(hash_of({})).value(), std::optional<Bytes>(Bytes()));
}

TEST_F(LabFileTest, TheFileIsOfADocumentedForm) {
  make_example();
  std::ifstream file(path_, std::ios::binary);
  Bytes head(100);
  file.read(reinterpret_cast<char*>(head.data()), 100);
  EXPECT_EQ(std::string(head.begin(), head.begin() + 15), "SQLite format 3");
  EXPECT_EQ(to_hex(ByteView(head).subspan(68, 4)), "69736c62");  // application_id
  EXPECT_EQ(to_hex(ByteView(head).subspan(60, 4)), "00000001");  // user_version
  EXPECT_EQ(head[18], 1);                                        // a rollback journal: one file
}

TEST_F(LabFileTest, GoldenDigests) {
  // docs/formats/lab.md; they change only with a new version of the format.
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(fs::path(source ? source : ".") / "tests/golden/lab_digests.txt");
  std::map<std::string, std::string> golden;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#")) golden[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  }
  ASSERT_EQ(golden.size(), 7u);
  EXPECT_EQ(hex_of(hash_of(Bytes{1, 2, 3, 4})), golden["hash_01020304"]);
  EXPECT_EQ(hex_of(hash_of(Bytes{0, 0, 0, 0})), golden["hash_00000000"]);
  EXPECT_EQ(commit::hex_of(digest_of(example_run(0).subject)), golden["subject"]);
  EXPECT_EQ(commit::hex_of(digest_of(example_run(0).platform)), golden["platform"]);
  EXPECT_EQ(commit::hex_of(digest_of(example_run(0))), golden["run"]);
  RunRecord slower = example_run(0);
  slower.seconds = 99;
  EXPECT_EQ(digest_of(slower), digest_of(example_run(0)));
}

TEST_F(LabFileTest, ForeignSchemasAreRefused) {
  for (const char* sql :
       {"CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END", "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE extra (x)", "CREATE INDEX more ON runs (seconds)", "DROP TABLE tensors",
        "ALTER TABLE runs ADD COLUMN more TEXT", "DROP INDEX runs_of_subject"}) {
    fs::remove(path_);
    make_example();
    tamper(sql);
    EXPECT_NE(complaint(), "") << sql;
    EXPECT_FALSE(LabFile::open(path_, LabFile::Mode::kWrite)) << sql;
  }
}

TEST_F(LabFileTest, HostileContentIsRefused) {
  for (const char* sql : {"PRAGMA user_version = 2",
                          "PRAGMA application_id = 7",
                          "UPDATE runs SET repeat = -1",
                          "UPDATE runs SET tapped = 2",
                          "UPDATE runs SET platform = 77",
                          "UPDATE subjects SET kind = 9",
                          "UPDATE subjects SET model = cast(zeroblob(70000) AS TEXT)",
                          "UPDATE platforms SET fields = x'00'",
                          "UPDATE platforms SET cpu_flags = x'ffffffffffffffff'",
                          "UPDATE platforms SET cores = -1",
                          "UPDATE run_values SET dims = x'0100000000000000ffffffffffffffff'",
                          "UPDATE run_values SET hash = x'00'",
                          "UPDATE run_values SET is_output = 3",
                          "UPDATE run_values SET step = -1",
                          "UPDATE nodes SET inputs = x'01'",
                          "UPDATE tensors SET data = zeroblob(20)",
                          "UPDATE tensors SET size = size + 1",
                          "UPDATE tensors SET size = size - 1",
                          "UPDATE tensors SET data = cast(data || x'00' AS BLOB)",
                          "UPDATE tensors SET hash = zeroblob(16)",
                          "UPDATE tensors SET hash = x''",
                          "UPDATE subjects SET model_sha256 = x'1234'",
                          "UPDATE subjects SET settings = 'other'",
                          "UPDATE platforms SET name = 'other'",
                          "UPDATE runs SET repeat = 5",
                          "UPDATE run_values SET name = 'other'",
                          "UPDATE runs SET digest = randomblob(32)"}) {
    fs::remove(path_);
    make_example();
    tamper(sql);
    EXPECT_NE(complaint(), "") << sql;
  }
}

TEST_F(LabFileTest, OtherFilesAreNoLabs) {
  std::ofstream(path_) << "not a database, but a text that is long enough to have a header of a hundred bytes "
                          "if only it were one, which it is not at all";
  EXPECT_THAT(complaint(), HasSubstr("lab"));
  fs::remove(path_);
  EXPECT_NE(complaint(), "");
  fs::create_directory(path_);
  EXPECT_NE(complaint(), "");
}

TEST_F(LabFileTest, ATruncatedLabIsRefused) {
  make_example();
  const auto size = fs::file_size(path_);
  for (const auto keep : {size - 4096, size / 2, uintmax_t{5000}, uintmax_t{100}, uintmax_t{1}}) {
    fs::remove(path_);
    make_example();
    fs::resize_file(path_, keep);
    EXPECT_NE(complaint(), "") << keep;
  }
}

TEST_F(LabFileTest, AnyDamagedByteIsRefusedOrRead) {
  make_example();
  std::ifstream file(path_, std::ios::binary);
  const Bytes whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  int refused = 0;
  for (size_t at = 0; at < whole.size(); at += 61) {
    Bytes damaged = whole;
    damaged[at] ^= 0x55;
    auto lab = LabFile::from_bytes(damaged, "damaged");
    refused += !lab || !read_all(*lab);  // no crash, whichever
  }
  EXPECT_GT(refused, 0);
  auto lab = LabFile::from_bytes(whole, "whole");
  ASSERT_TRUE(lab) << lab.error().message;
  EXPECT_TRUE(read_all(*lab));
}

}  // namespace
}  // namespace isobit::lab::records
