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

TEST(Explain, WherePlatformsThatAreAlikeAtTheForkFirstDifferIsSaid) {
  Planted p = chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 2}, {"b", 2}, {"c", 2}, {"y", 2}});
  p.run("three/1t", {{"a", 2}, {"b", 2}, {"c", 3}, {"y", 3}});
  const std::string words = said(p.explained());
  EXPECT_NE(words.find("Alike at this operator, two/1t and three/1t first differ behind it at node 2"),
            std::string::npos)
      << words;
}

TEST(Explain, PlatformsThatDifferedBeforeTheForkAreNotAlikeThroughout) {
  // What makes a is not known, so that c is the first that is introduced; one and two differ before.
  Planted p;
  p.node("Gemm", "c", {"x"});
  p.run("one/1t", {{"a", 1}, {"c", 1}});
  p.run("two/1t", {{"a", 2}, {"c", 1}});
  p.run("three/1t", {{"a", 2}, {"c", 2}});
  p.run("four/1t", {{"a", 2}, {"c", 2}});
  const Explanation e = p.explained();
  const std::string words = said(e);
  ASSERT_EQ(origins(e), (Names{"a: unknown", "c: introduced"})) << words;
  EXPECT_NE(words.find("Alike in every value that was recorded: three/1t and four/1t."), std::string::npos) << words;
  EXPECT_NE(words.find("in every value behind it, though not before: one/1t and two/1t."), std::string::npos) << words;
}

TEST(Explain, NoMoreGroupsThanAFewAreSaid) {
  Planted p = chain();
  for (int k = 0; k < 20; ++k) {
    const auto x = static_cast<float>(k / 2);  // ten groups of two
    p.run("p" + std::to_string(k) + "/1t", {{"a", x}, {"b", static_cast<float>(k)}});
  }
  const std::string words = said(p.explained());
  size_t count = 0;
  for (size_t at = words.find("first differ behind it"); at != words.npos; at = words.find("first differ", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 6u) << words;
}

TEST(Explain, PairsThatDifferInOneFieldAreCounted) {
  Planted p = chain();
  for (const char* core : {"a", "b", "c", "d"}) {
    for (const int threads : {1, 2}) {
      const std::string name = "one@" + std::string(core) + "/" + std::to_string(threads) + "t";
      // With two threads all but d make another result.
      const float x = threads == 2 && *core != 'd' ? 2.0f : 1.0f;
      p.run(name, {{"a", 1.0f}, {"b", x}, {"c", x}, {"y", x}});
    }
  }
  const std::string words = said(p.explained());
  EXPECT_NE(words.find("one@a/1t and one@a/2t have different results and differ in 'threads' alone, as do 2 other "
                       "pairs; the results of 1 pair that differs in nothing else agree."),
            std::string::npos)
      << words;
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
