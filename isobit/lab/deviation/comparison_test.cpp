#include <gtest/gtest.h>

#include "isobit/base/text.h"
#include "isobit/lab/deviation/comparison_for_test.h"
#include "isobit/lab/deviation/lab_set.h"

namespace isobit::lab::deviation {
namespace {

using records::RunRecord;

TEST(Comparison, ClassesPrecisionAndChurn) {
  Runs r;
  r.add("a", {0.25f, 0.75f});
  r.add("b", {0.25f, 0.75f});
  r.add("c", {0.5f, 0.75f});
  r.add("d", {0.875f, 0.75f});
  const Comparison c = r.compare();
  EXPECT_EQ(c.classes, (std::vector<std::vector<size_t>>{{0, 1}, {2}, {3}}));
  EXPECT_EQ(c.overall->remaining_precision, 0);
  EXPECT_EQ(c.overall->l0(), 0.5);
  EXPECT_EQ(c.label_flips[0][1], 0u);
  EXPECT_EQ(c.label_flips[0][2], 1u);
  EXPECT_EQ(c.churn->any_differ, 1);
  EXPECT_EQ(c.churn->pairwise_mean, 0.5);  // d against each of three, of six pairs
  EXPECT_EQ(c.dendrogram.size(), 2u);
}

TEST(Comparison, WhatRoundingCannotExplain) {
  Runs r;
  r.add("a", {0.25f, 0.75f});
  r.add("b", {0.25f, 0.7500001f});
  r.add("c", {0.9f, 0.1f});
  EXPECT_EQ(r.compare().groups, (std::vector<std::vector<size_t>>{{0, 1}, {2}}));
  r.runs.pop_back();
  EXPECT_EQ(r.compare().groups, (std::vector<std::vector<size_t>>{{0, 1}}));
}

TEST(Comparison, WithoutTensorsThereAreClassesAlone) {
  Runs r;
  r.add("a", {1, 2});
  r.add("b", {1, 3});
  r.tensors.clear();
  const Comparison c = r.compare();
  EXPECT_EQ(c.classes.size(), 2u);
  EXPECT_FALSE(c.overall || c.churn);
  EXPECT_TRUE(c.groups.empty() && c.dendrogram.empty());
}

TEST(Comparison, APlatformMayDisagreeWithItselfOrFail) {
  Runs r;
  r.add("a", {1, 2});
  r.add("a", {1, 3}).repeat = 1;
  r.add("b", {1, 2});
  RunRecord& failed = r.add("c", {});
  failed.error = "no such operator";
  failed.values.clear();
  const Comparison c = r.compare();
  EXPECT_EQ(c.repeated(), 1u);
  EXPECT_EQ(c.nondeterministic(), 1u);
  EXPECT_EQ(c.classes, (std::vector<std::vector<size_t>>{{0, 1}}));
  EXPECT_EQ(c.platforms[2].equivalence_class, 0);
  EXPECT_EQ(c.platforms[2].error, "no such operator");
}

TEST(Comparison, WhatFailedAndLaterRanIsOnePlatform) {
  Runs r;
  const auto fails = [&](const char* name, const char* outcome) -> RunRecord& {
    RunRecord& run = r.add(name, {});
    run.values.clear();
    run.error = text_of("it ", outcome);
    run.platform.change([&](auto& p) { p.engine = "by its name"; });
    run.platform.change([&](auto& p) { p.fields = {{"version", "1"}, {"cpu", "A"}, {"outcome", outcome}}; });
    return run;
  };
  const auto ran = [&](const char* name, float made) -> RunRecord& {
    RunRecord& run = r.add(name, {made});
    run.platform.change([&](auto& p) { p.fields = {{"version", "1"}, {"cpu", "A"}, {"library", "5"}}; });
    return run;
  };
  fails("p", "no answer");
  ran("q", 1);
  ran("p", 2);
  fails("q", "failed").repeat = 1;  // one of several
  fails("s", "no answer");
  fails("s", "failed");
  Comparison c = r.compare();
  ASSERT_EQ(c.platforms.size(), 3u);
  EXPECT_EQ(c.platforms[0].label, "q");
  EXPECT_EQ(c.platforms[1].label, "p");
  EXPECT_EQ(c.platforms[1].record.engine, "engine");
  EXPECT_EQ(c.platforms[1].error, "");
  EXPECT_EQ(c.platforms[1].runs, 1u);
  EXPECT_EQ(c.platforms[2].error, "it failed");
  EXPECT_EQ(c.platforms[2].record.fields.at("outcome"), "failed");
  // On another machine, in another version or environment it is another platform.
  for (const char* field : {"version", "cpu", "environment"})
    fails("p", "failed").platform.change([&](auto& p) { p.fields[field] = "B"; });
  fails("p", "failed").platform.change([&](auto& p) { p.cpu_flags = {"avx"}; });
  fails("p", "failed").platform.change([&](auto& p) { p.cores = 3; });
  EXPECT_EQ(r.compare().platforms.size(), 8u);
  // What runs on an emulated processor alone knows its flags.
  for (RunRecord& run : r.runs) run.platform.change([&](auto& p) { p.fields["emulator"] = "qemu 7"; });
  ran("e", 1).platform.change([&](auto& p) { p.cpu_flags = {"avx"}; });
  r.runs.back().platform.change([&](auto& p) { p.fields["emulator"] = "qemu 7"; });
  fails("e", "failed").platform.change([&](auto& p) { p.fields["emulator"] = "qemu 7"; });
  EXPECT_EQ(r.compare().platforms.back().label, "e");
}

TEST(Comparison, WhatDidNotRunTwiceAgreesWithNothing) {
  Runs r;
  RunRecord& failed = r.add("a", {});
  failed.error = "no such operator";
  failed.values.clear();
  EXPECT_EQ(r.compare().agreement(), Agreement::kNothingToCompare);
  r.add("b", {1, 2});
  EXPECT_EQ(r.compare().ran(), 1u);
  EXPECT_EQ(r.compare().agreement(), Agreement::kNothingToCompare);
  r.add("b", {1, 2}).repeat = 1;
  EXPECT_EQ(r.compare().agreement(), Agreement::kAgree);  // with itself
  r.add("c", {1, 2});
  EXPECT_EQ(r.compare().agreement(), Agreement::kAgree);
  r.add("b", {1, 3}).repeat = 2;
  EXPECT_EQ(r.compare().agreement(), Agreement::kDiffer);  // from itself
  r.runs.pop_back();
  r.add("d", {1, 3});
  EXPECT_EQ(r.compare().agreement(), Agreement::kDiffer);
}

TEST(Comparison, OfSeveralSubjectsTheWorstIsSaid) {
  Runs alone, agree, differ;
  alone.add("a", {1});
  for (const char* name : {"a", "b"}) agree.add(name, {1});
  differ.add("a", {1});
  differ.add("b", {2});
  LabComparison all;
  EXPECT_EQ(agreement_of(all), Agreement::kNothingToCompare);
  all.subjects.push_back(agree.compare());
  EXPECT_EQ(agreement_of(all), Agreement::kAgree);
  all.subjects.push_back(alone.compare());
  EXPECT_EQ(agreement_of(all), Agreement::kNothingToCompare);
  all.subjects.push_back(differ.compare());
  EXPECT_EQ(agreement_of(all), Agreement::kDiffer);
}

TEST(Comparison, MemoryOfAllSubjectsTogetherIsBounded) {
  std::vector<OpenLab> labs;
  labs.push_back({"a.lab", records::LabFile::in_memory("a.lab").value(), {}});
  uint64_t memory = 0;
  for (const char* model : {"m", "n"}) {
    Runs r;
    r.subject.model = model;
    memory += records::memory_of(r.add("p", {1}).platform);
    ASSERT_TRUE(labs[0].lab.add_run(r.runs[0]));
  }
  EXPECT_EQ(compare_labs(labs, memory)->subjects.size(), 2u);
  const auto more = compare_labs(labs, memory - 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(more.error().message.find("a.lab: fields and flags of the platforms of all its subjects"),
            std::string::npos);
}

TEST(Comparison, TheKernelsOfAForkAreThoseOfEachPlatform) {
  Runs r;
  const auto tapped = [&](const char* name, float made, const char* kernel) {
    RunRecord& run = r.add(name, {1, 2});
    run.tapped = true;
    run.values.insert(run.values.begin(), r.value("y", {made}, false));
    run.values.front().kernel = kernel;
  };
  tapped("a", 1, "gemm_a");
  tapped("b", 1, "");
  r.add("untapped", {1, 2});
  tapped("c", 2, "gemm_c");
  const Comparison c = r.compare();
  ASSERT_TRUE(c.fork);
  EXPECT_EQ(c.fork->groups, (std::vector<std::vector<size_t>>{{0, 1}, {3}}));
  EXPECT_EQ(c.fork->kernels, (std::vector<std::string>{"gemm_a", "", "", "gemm_c"}));
}

TEST(Comparison, TheFirstForkIsThatOfTheExecutionOrder) {
  Runs r;
  // a fuses what b and c record; b and c fork there, before the value that all three have.
  const auto tapped = [&](const char* name, std::vector<records::ValueRecord> values) {
    RunRecord& run = r.add(name, {1, 2});
    run.tapped = true;
    run.values.insert(run.values.begin(), values.begin(), values.end());
  };
  tapped("a", {r.value("x", {1}, false), r.value("z", {3}, false)});
  tapped("b", {r.value("x", {1}, false), r.value("y", {2}, false), r.value("z", {3}, false)});
  tapped("c", {r.value("x", {1}, false), r.value("y", {2.5f}, false), r.value("z", {4}, false)});
  const Comparison c = r.compare();
  ASSERT_TRUE(c.fork);
  EXPECT_EQ(c.values[c.fork->value].name, "y");
  EXPECT_EQ(c.fork->groups, (std::vector<std::vector<size_t>>{{1}, {2}}));
  ASSERT_EQ(c.values.size(), 4u);
  EXPECT_EQ(c.values[2].name, "z");
  EXPECT_EQ(c.values[2].classes, 2);
  EXPECT_EQ(c.values[3].classes, 1);  // classes may come together again
}

TEST(Comparison, TheGraphSaysWhatIsComputedFirst) {
  Runs r;
  r.graph = {{"Op", "", {"i"}, {"y"}}, {"Op", "", {"y"}, {"x"}}, {"Op", "", {"x"}, {"out"}}};
  const auto tapped = [&](const char* name, std::vector<records::ValueRecord> values) {
    RunRecord& run = r.add(name, {1, 2});
    run.tapped = true;
    run.values.insert(run.values.begin(), values.begin(), values.end());
  };
  // No record has both y and x.
  tapped("a", {r.value("y", {1}, false)});
  tapped("b", {r.value("y", {2}, false)});
  tapped("c", {r.value("x", {1}, false)});
  tapped("d", {r.value("x", {2}, false)});
  EXPECT_EQ(r.compare().values[r.compare().fork->value].name, "y");
  r.graph.clear();
  EXPECT_EQ(r.compare().values[r.compare().fork->value].name, "x");
}

TEST(Comparison, LabelsAreOfTheFirstOutputOfTheModel) {
  Runs r;
  const auto add = [&](const char* name, const std::vector<float>& scores, const std::vector<float>& boxes) {
    RunRecord& run = r.add(name, {});
    run.values = {r.value("scores", scores, true), r.value("boxes", boxes, true)};
    run.values.front().dims = {2, static_cast<int64_t>(scores.size()) / 2};
  };
  add("a", {1, 2, 1, 2}, {1, 2});
  add("b", {1, 2, 2, 1}, {1, 2});
  EXPECT_EQ(r.compare().label_output, "scores");
  EXPECT_EQ(r.compare().label_flips[0][1], 1u);
  // Where one class has not kept that output nothing else is taken in its place.
  r.tensors.erase(r.runs[0].values.front().hash);
  EXPECT_FALSE(r.compare().label_flips[0][1] || r.compare().churn);
  r.subject.kind = records::SubjectKind::kTraining;
  for (RunRecord& run : r.runs) run.subject = r.subject;
  EXPECT_EQ(r.compare().label_output, "");
}

TEST(Comparison, TooManyClassesAreNotComparedWithOneAnother) {
  Runs r;
  for (size_t i = 0; i <= kMostComparedClasses; ++i) r.add(std::to_string(i), {1, static_cast<float>(i)});
  const Comparison c = r.compare();
  EXPECT_TRUE(c.too_many_classes());
  EXPECT_EQ(c.classes.size(), kMostComparedClasses + 1);
  EXPECT_TRUE(c.pairs.empty() && c.label_flips.empty() && !c.overall && c.dendrogram.empty());
  r.runs.pop_back();
  EXPECT_EQ(r.compare().pairs.size(), kMostComparedClasses);
}

TEST(Comparison, FlagsOfEmulatedProcessorsAreComparedAmongThemselves) {
  Runs r;
  const auto add = [&](const char* name, float made, const std::vector<std::string>& flags, const char* emulator) {
    RunRecord& run = r.add(name, {made});
    run.platform.change([&](auto& p) { p.cpu_flags = flags; });
    if (*emulator != 0) run.platform.change([&](auto& p) { p.fields["emulator"] = emulator; });
  };
  add("here", 1, {"avx", "avx2", "constant_tsc"}, "");
  add("p~haswell", 1, {"avx", "avx2"}, "qemu 7");
  add("p~sandybridge", 2, {"avx"}, "qemu 7");
  const Comparison c = r.compare();
  ASSERT_EQ(c.cohorts.size(), 1u);
  EXPECT_EQ(c.cohorts[0].platforms, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(c.cohorts[0].flags.clusters, (std::vector<FlagCluster>{{{"avx2"}, {true, false}}}));
}

TEST(Comparison, TwoMachinesOfOneNameAreTold) {
  Runs r;
  r.add("p", {1, 2}).platform.change([&](auto& p) { p.fields["cpu"] = "A"; });
  r.add("p", {1, 2}).platform.change([&](auto& p) { p.fields["cpu"] = "B"; });
  const Comparison c = r.compare();
  EXPECT_EQ(c.platforms[0].label, "p on A");
  EXPECT_EQ(c.platforms[1].label, "p on B");
}

TEST(Comparison, TwoEnvironmentsOfOneNameAreTold) {
  Runs r;
  for (const char* set : {"", "OPENBLAS_CORETYPE=Nehalem"}) {
    r.add("p", {1, 2}).platform.change([&](auto& p) {
      p.fields["cpu"] = "A";
      if (*set != 0) p.fields["environment"] = set;
    });
  }
  r.add("q", {1, 2}).platform.change([&](auto& p) { p.fields["environment"] = "OMP_NUM_THREADS=1"; });
  const Comparison c = r.compare();
  EXPECT_EQ(c.platforms[0].label, "p on A");
  EXPECT_EQ(c.platforms[1].label, "p on A with OPENBLAS_CORETYPE=Nehalem");
  EXPECT_EQ(c.platforms[2].label, "q");
}

TEST(Comparison, AnOutputThatDoesNotDependOnTheInput) {
  std::vector<Runs> inputs(2);
  for (int i = 0; i < 2; ++i) {
    const float x = static_cast<float>(i);
    for (const char* name : {"a", "b", "c"}) inputs[static_cast<size_t>(i)].add(name, {x, 1 - x});
    inputs[static_cast<size_t>(i)].add("stuck", {0.5f, 0.5f + x / 100});
  }
  const Comparison first = inputs[0].compare(), second = inputs[1].compare();
  auto tensors = inputs[0].tensors;
  tensors.insert(inputs[1].tensors.begin(), inputs[1].tensors.end());
  const auto found = find_input_independent(
      {&first, &second},
      [&](const records::Hash128& h) -> Expected<std::optional<Bytes>> { return std::optional<Bytes>(tensors.at(h)); });
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().platform, "stuck");
  EXPECT_EQ(found->front().typical, 1);
}

}  // namespace
}  // namespace isobit::lab::deviation
