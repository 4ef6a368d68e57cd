// What a stranger's records can make of a comparison.
#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/lab/deviation/comparison_for_test.h"
#include "isobit/lab/deviation/lab_set.h"

namespace isobit::lab::deviation {
namespace {

using records::RunRecord;

TEST(Claims, TwoRecordsOfOneRunDecideNothing) {
  Runs r;
  const auto tapped = [&](const char* name, float inner) {
    RunRecord& run = r.add(name, {1, 2});
    run.tapped = true;
    run.values.insert(run.values.begin(), r.value("y", {inner}, false));
  };
  for (const char* name : {"a", "b"}) {
    r.add(name, {1, 2});
    tapped(name, 1);
  }
  EXPECT_EQ(r.compare().agreement(), Agreement::kAgree);
  tapped("b", 2);  // by somebody else: whichever comes first, no fork is made of it
  std::vector<std::string> from = {"a.lab", "a.lab", "b.lab", "b.lab", "c.lab"};
  for (int order = 0; order < 2; ++order) {
    const Comparison c = r.compare();
    EXPECT_EQ(c.agreement(), Agreement::kDiffer);
    EXPECT_FALSE(c.fork);
    EXPECT_EQ(c.nondeterministic(), 0u);
    ASSERT_EQ(c.contested.size(), 1u);
    EXPECT_TRUE(c.contested[0].tapped);
    EXPECT_EQ(c.platforms[c.contested[0].platform].label, "b");
    EXPECT_EQ(c.classes.size(), 1u);
    const auto words = words_of_contested(c, from);
    ASSERT_EQ(words.size(), 1u);
    EXPECT_NE(words[0].find("two records claim the same run of b ("), std::string::npos) << words[0];
    EXPECT_NE(words[0].find("c.lab"), std::string::npos) << words[0];
    std::ranges::reverse(r.runs);
    std::ranges::reverse(from);
  }
  r.runs.pop_back();
  r.add("b", {1, 3});  // another output
  const Comparison c = r.compare();
  ASSERT_EQ(c.contested.size(), 1u);
  EXPECT_EQ(c.nondeterministic(), 0u);
  EXPECT_EQ(c.agreement(), Agreement::kDiffer);
}

TEST(Claims, RecordsWithoutValuesAgreeWithNothing) {
  Runs r;
  for (const char* name : {"a", "b"}) r.add(name, {}).values.clear();
  const Comparison c = r.compare();
  EXPECT_EQ(c.agreement(), Agreement::kNothingToCompare);
  EXPECT_EQ(c.ran(), 0u);
  EXPECT_EQ(c.platforms[0].error, "its record has no values");
}

// An untapped run that somebody added does not hide that outputs differ where operators were recorded.
TEST(Claims, OutputsOfTappedRunsAreComparedToo) {
  Runs r;
  r.add("p", {1, 2}).tapped = true;
  r.add("q", {1, 3}).tapped = true;
  EXPECT_EQ(r.compare().agreement(), Agreement::kDiffer);
  r.add("q", {1, 2});
  const Comparison c = r.compare();
  EXPECT_EQ(c.classes.size(), 1u);
  EXPECT_EQ(c.agreement(), Agreement::kDiffer);
  r.runs[1] = r.runs[0];
  r.runs[1].platform.change([](auto& p) { p.name = "q"; });
  EXPECT_EQ(r.compare().agreement(), Agreement::kAgree);
}

TEST(Claims, MemoryOfAllLabsTogetherIsBounded) {
  std::vector<OpenLab> labs;
  Runs r;
  r.add("p", {1});
  for (const char* path : {"a.lab", "b.lab"}) {
    labs.push_back({path, records::LabFile::in_memory(path).value(), {}});
    r.runs[0].repeat = static_cast<uint32_t>(labs.size());
    ASSERT_TRUE(labs.back().lab.add_run(r.runs[0]));
  }
  const uint64_t memory = 2 * records::memory_of(r.runs);  // each lab has its own record of the platform
  EXPECT_EQ(runs_of(labs, r.subject, nullptr, memory)->size(), 2u);
  const auto more = runs_of(labs, r.subject, nullptr, memory - 1);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("b.lab: what its runs say of platforms"), std::string::npos);
}

TEST(Claims, DumpsHaveNoUntappedRuns) {
  Runs r;
  r.subject.kind = records::SubjectKind::kDumps;
  r.add("p", {1});
  std::vector<OpenLab> labs;
  labs.push_back({"a.lab", records::LabFile::in_memory("a.lab").value(), {}});
  ASSERT_TRUE(labs[0].lab.add_run(r.runs[0]));
  const auto read = compare_labs(labs);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("a run of dumps that is not tapped"), std::string::npos);
}

}  // namespace
}  // namespace isobit::lab::deviation
