#include "isobit/lab/explain/separation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace isobit::lab::explain {
namespace {

using Names = std::vector<std::string>;

TEST(Separation, OneFieldThatSeparates) {
  const Separation s = separate({{{"isa", "avx2"}, {"threads", "1"}},
                                 {{"isa", "avx512"}, {"threads", "1"}},
                                 {{"isa", "avx2"}, {"threads", "2"}},
                                 {{"isa", "avx512"}, {"threads", "2"}}},
                                {1, 2, 1, 2});
  ASSERT_EQ(s.sets.size(), 1u);
  EXPECT_EQ(s.sets[0].fields, (std::vector<Names>{{"isa"}}));
  EXPECT_EQ(s.sets[0].repeated, 4u);
  EXPECT_TRUE(s.sets[0].exact);
  // Pairs that differ in one field alone: of isa both differ, of threads both agree.
  ASSERT_EQ(s.contrasts.size(), 2u);
  for (const Contrast& c : s.contrasts) {
    EXPECT_EQ(c.differing, c.fields == Names{"isa"} ? 2u : 0u);
    EXPECT_EQ(c.agreeing, c.fields == Names{"isa"} ? 0u : 2u);
  }
}

TEST(Separation, TwoFieldsTogether) {
  const Separation s = separate({{{"isa", "a"}, {"threads", "1"}},
                                 {{"isa", "b"}, {"threads", "1"}},
                                 {{"isa", "a"}, {"threads", "2"}},
                                 {{"isa", "b"}, {"threads", "2"}},
                                 {{"isa", "b"}, {"threads", "2"}, {"host", "elsewhere"}}},
                                {1, 2, 2, 1, 1});
  ASSERT_EQ(s.sets.size(), 1u);
  EXPECT_EQ(s.sets[0].fields, (std::vector<Names>{{"isa"}, {"threads"}}));
}

TEST(Separation, AFieldThatIsAnotherOneOnEveryPlatformSaysNothing) {
  const Separation s = separate({{{"serial", "1"}}, {{"serial", "2"}}, {{"serial", "3"}}}, {1, 2, 1});
  EXPECT_TRUE(s.sets.empty());
  EXPECT_FALSE(s.indistinguishable.has_value());
}

TEST(Separation, EqualRecordsOfDifferentClassesAreNamed) {
  const Separation s = separate({{{"isa", "a"}}, {{"isa", "b"}}, {{"isa", "a"}}}, {1, 2, 2});
  ASSERT_TRUE(s.indistinguishable.has_value());
  EXPECT_EQ(*s.indistinguishable, (std::pair<size_t, size_t>{0, 2}));
  EXPECT_TRUE(s.sets.empty());
}

TEST(Separation, FieldsThatAlwaysChangeTogetherAreOne) {
  const Separation s = separate(
      {{{"cpu", "x"}, {"maker", "X"}}, {{"cpu", "y"}, {"maker", "Y"}}, {{"cpu", "x"}, {"maker", "X"}}}, {1, 2, 1});
  ASSERT_EQ(s.sets.size(), 1u);
  EXPECT_EQ(s.sets[0].fields, (std::vector<Names>{{"cpu", "maker"}}));
}

TEST(Separation, AMissingFieldIsAValueOfItsOwn) {
  const Separation s = separate({{}, {{"gpu", "g"}}, {{"gpu", "g"}}}, {1, 2, 2});
  ASSERT_EQ(s.sets.size(), 1u);
  EXPECT_EQ(s.sets[0].fields, (std::vector<Names>{{"gpu"}}));
}

TEST(Separation, PartsOfANameAreFields) {
  const Fields fields = fields_of({"openblas@haswell/2t+winograd4", "openblas", {}, {"avx2", "fma"}, 4});
  EXPECT_EQ(fields.at("name after @"), "haswell");
  EXPECT_EQ(fields.at("threads"), "2t");
  EXPECT_EQ(fields.at("convolutions"), "winograd4");
  EXPECT_EQ(fields.at("cores"), "4");
  const Fields own = fields_of({"pytorch/1t", "pytorch", {{"threads", "1"}}, {}, 0});
  EXPECT_EQ(own.at("threads"), "1");
  EXPECT_FALSE(own.contains("name after @"));
  EXPECT_FALSE(own.contains("convolutions"));
}

// Whatever is said to separate does, and a set of one field that does is never missed.
RC_GTEST_PROP(Separation, SetsSeparate, ()) {
  const auto n = *rc::gen::inRange(1, 9);
  std::vector<Fields> items(static_cast<size_t>(n));
  std::vector<int> classes;
  int most = 0;
  for (Fields& fields : items) {
    for (const char* name : {"p", "q", "r", "s"}) fields[name] = std::string(1, *rc::gen::inRange('a', 'd'));
    classes.push_back(*rc::gen::inRange(1, most + 2));
    most = std::max(most, classes.back());
  }
  const Separation s = separate(items, classes);
  const auto separates = [&](const Names& names) {
    std::map<Names, std::set<int>> seen;
    for (size_t i = 0; i < items.size(); ++i) {
      Names key;
      for (const std::string& name : names) key.push_back(items[i].at(name));
      seen[key].insert(classes[i]);
    }
    return seen.size() < items.size() &&
           std::ranges::all_of(seen, [](const auto& entry) { return entry.second.size() == 1; });
  };
  for (const SeparatingSet& set : s.sets) {
    Names names;
    for (const Names& alike : set.fields) names.push_back(alike.front());
    RC_ASSERT(separates(names));
  }
  if (most < 2 || s.indistinguishable) return;
  bool single = false;
  for (const char* name : {"p", "q", "r", "s"}) single = single || separates({name});
  RC_ASSERT(!single || (!s.sets.empty() && s.sets.front().fields.size() == 1));
}

}  // namespace
}  // namespace isobit::lab::explain
