#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/lab/explain/planted_for_test.h"

namespace isobit::lab::explain {
namespace {

using Names = std::vector<std::string>;

// "a: introduced", ... of every fork.
Names origins(const Explanation& e) {
  Names all;
  for (const TracedFork& fork : e.forks) {
    all.push_back(e.trace.values[fork.value].name + ": " + name_of(fork.origin));
  }
  return all;
}

std::string said(const Explanation& e) {
  std::string all;
  for (const std::string& sentence : in_words(e)) all += sentence + "\n";
  return all;
}

TEST(Explain, TheFirstOperatorThatDiffersOnEqualInputsIsNamed) {
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 1}, {"b", 1}, {"c", 2}, {"y", 2}});
  const Explanation e = p.explained();
  EXPECT_EQ(origins(e), (Names{"c: introduced", "y: inherited"}));
  ASSERT_EQ(e.first, 0u);
  EXPECT_EQ(e.forks[0].splits, (std::vector<Groups>{{{0}, {1}}}));
  EXPECT_EQ(e.forks[0].region, (std::vector<size_t>{2}));
  EXPECT_NE(said(e).find("node 2, Gemm 'node of c' that makes 'c'"), std::string::npos) << said(e);
}

TEST(Explain, AnOperatorBehindAForkMayIntroduceOneOfItsOwn) {
  // c differs between one and two, which agree on b, though b has another class elsewhere.
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 1}, {"b", 1}, {"c", 2}, {"y", 2}});
  p.run("three/1t", {{"a", 3}, {"b", 3}, {"c", 3}, {"y", 3}});
  const Explanation e = p.explained();
  EXPECT_EQ(origins(e), (Names{"a: introduced", "b: inherited", "c: introduced", "y: inherited"}));
  EXPECT_EQ(e.forks[2].splits, (std::vector<Groups>{{{0}, {1}}}));
  EXPECT_EQ(e.forks[2].input_classes, 2);
}

TEST(Explain, LaterStepsOfATrainingBeginWithWhatEarlierOnesLeft) {
  // a reads x and w alone: in step 1 those are equal, in step 2 they are what step 1 made of them.
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"a", 5}, {"b", 5}});
  p.run("two/1t", {{"a", 1}, {"b", 2}, {"a", 6}, {"b", 6}});
  for (records::RunRecord& run : p.runs) {
    for (size_t v = 0; v < run.values.size(); ++v) run.values[v].step = v < 2 ? 1 : 2;
  }
  const Explanation e = p.explained();
  EXPECT_EQ(origins(e), (Names{"b: introduced", "a: unknown", "b: inherited"}));
  EXPECT_NE(e.forks[1].why_unknown.find("an earlier step"), std::string::npos) << e.forks[1].why_unknown;
}

TEST(Explain, DifferencesThatVanishAreSaid) {
  Planted p = chain();
  p.run("one/1t", {{"a", -1}, {"b", 0}, {"c", 1}, {"y", 1}});
  p.run("two/1t", {{"a", -2}, {"b", 0}, {"c", 1}, {"y", 1}});
  p.run("three/1t", {{"a", 3}, {"b", 3}, {"c", 3}, {"y", 3}});
  const Explanation e = p.explained();
  EXPECT_EQ(origins(e), (Names{"a: introduced", "b: inherited", "c: inherited", "y: inherited"}));
  EXPECT_EQ(e.forks[1].input_classes, 3);
  EXPECT_EQ(e.trace.values[e.forks[1].value].class_count, 2);
  EXPECT_NE(said(e).find("differences vanish"), std::string::npos) << said(e);
}

TEST(Explain, AFusedOperatorIsARegion) {
  // two fuses Conv and Relu and records no a: what of the two makes the difference nobody can say.
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("two/1t", {{"b", 2}, {"c", 2}, {"y", 2}});
  const Explanation e = p.explained();
  EXPECT_EQ(origins(e), (Names{"b: introduced", "c: inherited", "y: inherited"}));
  EXPECT_EQ(e.forks[0].region, (std::vector<size_t>{0, 1}));
  EXPECT_NE(said(e).find("by one of 1 operators before it"), std::string::npos) << said(e);
}

TEST(Explain, WhatTwoPlatformsRecordedDecidesWhateverAThirdDid) {
  // one and two agree at b and differ at y; three recorded neither b nor c and has an a and y of its own.
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 2}, {"b", 1}, {"y", 2}});
  p.run("three/1t", {{"a", 3}, {"y", 3}});
  const Explanation e = p.explained();
  EXPECT_EQ(origins(e), (Names{"a: introduced", "y: introduced"}));
  EXPECT_EQ(e.forks[1].region, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(e.forks[1].splits, (std::vector<Groups>{{{0}, {1}}}));
  EXPECT_EQ(e.comparison.values[e.comparison.fork->value].name, "a");
}

TEST(Explain, WhatEveryTwoPlatformsSawBeforeIsInherited) {
  // All three have x alone in common, but each two that differ at y differ before, at what both recorded.
  Planted p = chain();
  p.node("Add", "z", {"a", "y"});
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"z", 1}});
  p.run("two/1t", {{"b", 2}, {"c", 2}, {"z", 2}});
  p.run("three/1t", {{"c", 3}, {"a", 3}, {"z", 3}});
  const Explanation e = p.explained();
  EXPECT_EQ(origins(e), (Names{"a: introduced", "b: introduced", "c: introduced", "z: inherited"}));
}

TEST(Explain, PlatformsThatEachRecordedASetOfTheirOwnAreCompared) {
  Planted p;
  for (int n = 0; n < 12; ++n) p.node("Add", "v" + std::to_string(n), {n == 0 ? "x" : "v" + std::to_string(n - 1)});
  for (int k = 0; k < 200; ++k) {
    std::vector<std::pair<std::string, float>> values;
    for (int n = 0; n < 11; ++n) {
      if ((k + 1) >> (n % 8) & 1) values.emplace_back("v" + std::to_string(n), 1.0f);
    }
    values.emplace_back("v11", static_cast<float>(k));
    p.run(std::to_string(k) + "/1t", values);
  }
  const Explanation e = p.explained();
  ASSERT_EQ(e.forks.size(), 1u);
  EXPECT_EQ(e.forks[0].origin, Origin::kIntroduced);
}

TEST(Explain, WithoutAGraphOrHashesTheOriginIsUnknown) {
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 2}, {"b", 2}, {"c", 2}, {"y", 2}});
  Planted no_graph = p;
  no_graph.graph.clear();
  EXPECT_EQ(origins(no_graph.explained()), (Names{"a: unknown", "b: unknown", "c: unknown", "y: unknown"}));
  Planted no_hashes = p;
  no_hashes.subject.input_sha256.reset();
  for (auto& run : no_hashes.runs) run.subject = no_hashes.subject;
  // Conv and Gemm read what the model was given; Relu and Softmax do not.
  EXPECT_EQ(origins(no_hashes.explained()), (Names{"a: unknown", "b: inherited", "c: unknown", "y: inherited"}));
}

TEST(Explain, AGraphWithCyclesAndNamesTwiceEnds) {
  Planted p;
  p.node("Add", "a", {"b"}).node("Add", "b", {"a"}).node("Add", "b", {"b", "b"});
  p.run("one/1t", {{"b", 1}});
  p.run("two/1t", {{"b", 2}});
  const Explanation e = p.explained();
  EXPECT_EQ(e.forks.size(), 1u);
  EXPECT_NE(e.forks[0].origin, Origin::kIntroduced);
}

TEST(Explain, ValuesOfALoopAreNotAlignedByName) {
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"a", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 1}, {"a", 2}, {"y", 2}});
  const Explanation e = p.explained();
  ASSERT_EQ(e.trace.values.size(), 3u);
  EXPECT_EQ(origins(e).front(), "a: unknown");
}

TEST(Explain, PlatformsThatAgreeAreSaidToAgreeUpToWhere) {
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 2}, {"b", 2}, {"c", 2}, {"y", 2}});
  p.run("three/1t", {{"a", 2}, {"b", 2}, {"c", 3}, {"y", 3}});
  const std::string words = said(p.explained());
  EXPECT_NE(words.find("two/1t and three/1t agree up to node 2"), std::string::npos) << words;
}

TEST(Explain, EverythingTheSame) {
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 1}, {"y", 1}});
  const Explanation e = p.explained();
  EXPECT_TRUE(e.forks.empty());
  EXPECT_NE(said(e).find("all outputs are the same in every bit"), std::string::npos) << said(e);
}

TEST(Explain, NoRunAtAllIsSaidAndNothingElse) {
  Planted p = chain();
  p.run("one/1t", {{"y", 1}}).error = "no such library";
  const Explanation e = p.explained();
  EXPECT_TRUE(e.comparison.classes.empty());
  EXPECT_NE(said(e).find("0 platforms ran"), std::string::npos) << said(e);
}

TEST(Explain, FieldsOfTheForkCountPlatformsOfEqualInputsOnly) {
  Planted p = chain();
  p.run("one@a/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("one@a/2t", {{"a", 1}, {"b", 1}, {"c", 2}, {"y", 2}});
  p.run("one@b/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("one@b/2t", {{"a", 1}, {"b", 1}, {"c", 2}, {"y", 2}});
  const Explanation e = p.explained();
  ASSERT_EQ(e.of_fork.sets.size(), 1u);
  EXPECT_EQ(e.of_fork.sets[0].fields, (std::vector<Names>{{"threads"}}));
  EXPECT_TRUE(e.of_fork.sets[0].exact);
  const std::string words = said(e);
  EXPECT_NE(words.find("'threads' separates the 2 classes"), std::string::npos) << words;
  EXPECT_NE(words.find("no proof of a cause"), std::string::npos) << words;
}

TEST(Explain, TheKernelOfTheOperatorIsAField) {
  Planted p = chain();
  const char* kernels[] = {"direct", "winograd", "direct", "winograd"};
  for (int i = 0; i < 4; ++i) {
    const float x = static_cast<float>(i % 2);
    p.run("p" + std::to_string(i), {{"a", x}, {"y", x}}).values[0].kernel = kernels[i];
  }
  const Explanation e = p.explained();
  ASSERT_FALSE(e.of_fork.sets.empty());
  EXPECT_EQ(e.of_fork.sets[0].fields[0], (Names{"kernel of this operator"}));
}

TEST(Explain, LayersHaveTheLeastPrecisionOverPairs) {
  Planted p = chain();
  p.run("one/1t", {{"a", 1.0f}, {"y", 1.0f}});
  p.run("two/1t", {{"a", 1.5f}, {"y", 1.0f}});
  p.run("three/1t", {{"a", 1.25f}, {"y", 1.0f}});
  const Explanation e = p.explained();
  ASSERT_TRUE(e.layers.figures[0].has_value());
  EXPECT_EQ(e.layers.figures[0]->remaining_precision, 0);
  EXPECT_EQ(e.layers.figures[0]->elements, 2u);
  EXPECT_EQ(e.layers.figures[0]->differing, 1u);
  EXPECT_FALSE(e.layers.figures[1].has_value());  // one class
  Planted bare = p;
  bare.tensors.clear();
  EXPECT_EQ(bare.explained().layers.not_compared, 1u);
}

TEST(Explain, LongNamesAreCutBetweenCharacters) {
  EXPECT_EQ(shortened("short"), "short");
  const std::string umlauts(200, 'x');
  EXPECT_EQ(shortened(umlauts).size(), kMaxWord + 3);
  std::string two_bytes;
  for (int i = 0; i < 100; ++i) two_bytes += "\xc3\xa4";
  EXPECT_EQ(shortened("x" + two_bytes).size(), kMaxWord - 1 + 3);
}

}  // namespace
}  // namespace isobit::lab::explain
