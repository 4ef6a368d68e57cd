// The numbers in the words of a tree add up to its terms.
#include "isobit/lab/reveal/words.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <numeric>
#include <regex>

#include "isobit/lab/reveal/planted_for_test.h"

namespace isobit::lab::reveal {
namespace {

using namespace testing;

constexpr int64_t kNone = -1;  // words that say no number, or several that do not fit

int64_t terms_in(const std::string& words);

// "[A]plus[B]": what stands between brackets that fit, and whether that is all.
std::vector<std::string> bracketed(const std::string& text) {
  std::vector<std::string> parts;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' && depth++ == 0) parts.emplace_back();
    if (depth > 0) parts.back() += c;
    if (c == ']') --depth;
  }
  for (std::string& part : parts) part = part.substr(1, part.size() - 2);
  return parts;
}

// "first [A]; then 3 of [B]; then 4 single terms from 9": number of parts, number of terms.
std::pair<int64_t, int64_t> listed_in(std::string text) {
  int64_t parts = 0, terms = 0;
  const std::regex single(R"(^(?:: first|; then) (\d+) single terms from \d+)"),
      many(R"(^(?:: first|; then) (?:(\d+) of )?\[)");
  while (!text.empty()) {
    std::smatch found;
    if (std::regex_search(text, found, single)) {
      parts += std::stoll(found[1]);
      terms += std::stoll(found[1]);
      text = found.suffix();
      continue;
    }
    if (!std::regex_search(text, found, many)) return {kNone, kNone};
    const int64_t times = found[1].matched ? std::stoll(found[1]) : 1;
    const std::string inside = bracketed(text)[0];
    parts += times;
    terms += times * terms_in(inside);
    text = text.substr(static_cast<size_t>(found.length()) + inside.size() + 1);
  }
  return {parts, terms};
}

int64_t terms_in(const std::string& words) {
  if (words[0] == '[') {
    const std::vector<std::string> two = bracketed(words);
    return two.size() == 2 ? terms_in(two[0]) + terms_in(two[1]) : kNone;
  }
  std::smatch found;
  const auto is = [&](const char* pattern) { return std::regex_match(words, found, std::regex(pattern)); };
  const auto number = [&](int group) { return std::stoll(found[group]); };
  if (is(R"(term \d+)")) return 1;
  if (is(R"((\d+) terms\b.*)")) return number(1);
  if (is(R"((\d+) partial sums, combined pairwise[^;]*; each: (.*))")) return number(1) * terms_in(found[2]);
  if (is(R"((\d+) blocks of (\d+) terms, combined pairwise[^;]*; each: (.*))") ||
      is(R"((\d+) (?:blocks|interleaved parts) of (\d+) terms added one after another[^;]*; (?:each|one of them): (.*))")) {
    return terms_in(found[3]) == number(2) ? number(1) * number(2) : kNone;
  }
  if (is(R"((\d+) (?:blocks|interleaved parts) added one after another, of ([\d, ]+) terms[^;]*; the largest: (.*))")) {
    std::vector<int64_t> sizes;
    const std::string list = found[2];
    for (size_t at = 0; at < list.size(); at = list.find_first_of("0123456789", list.find(' ', at)))
      sizes.push_back(std::stoll(list.substr(at)));
    const bool fits =
        number(1) == static_cast<int64_t>(sizes.size()) && terms_in(found[3]) == *std::ranges::max_element(sizes);
    return fits ? std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) : kNone;
  }
  if (is(R"((\d+) operands in one operation)")) return number(1);
  if (is(R"((\d+) operands in one operation; each: (.*))")) return number(1) * terms_in(found[2]);
  if (is(R"((\d+) (?:parts added one after another|operands in one operation)(: first .*))")) {
    const auto [parts, terms] = listed_in(found[2]);
    return parts == number(1) ? terms : kNone;
  }
  return kNone;
}

void check(const SumTree& tree) {
  const std::string words = words_of(tree);
  if (words.find(" in all)") != words.npos) return;  // a list that was cut short
  if (terms_in(words) != tree.leaves()) RC_FAIL(text_of_tree(tree) + ": " + words);
}

RC_GTEST_PROP(Words, NumbersOfAnyTreeAddUp, ()) { check(draw_tree(*rc::gen::inRange<int64_t>(1, 40), 4)); }

// As kernels add: blocks of several sizes, each a chain, lanes or halves, with terms that are left over.
RC_GTEST_PROP(Words, NumbersOfBlocksAddUp, ()) {
  const int64_t k = *rc::gen::inRange<int64_t>(2, 70);
  TreeBuilder b(k);
  std::vector<TreeId> parts;
  for (int64_t begin = 0; begin < k;) {
    const int64_t end = std::min(k, begin + *rc::gen::element<int64_t>(1, 2, 4, 8, 12, 16));
    const int64_t lanes = *rc::gen::element<int64_t>(1, 2, 4);
    std::vector<TreeId> sums;
    for (int64_t l = 0; l < std::min(lanes, end - begin); ++l) sums.push_back(b.chain(b.range(begin + l, end, lanes)));
    parts.push_back(std::has_single_bit(sums.size()) && *rc::gen::arbitrary<bool>() ? b.folded(sums) : b.chain(sums));
    begin = end;
  }
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      b.chain(parts);
      break;
    case 1:
      b.pairwise(parts);
      break;
    default:
      if (parts.size() > 1) b.add(parts);
  }
  check(b.tree());
}

// 8 terms of 4 lanes, and single terms that join what they came to.
TEST(Words, PartsOfDifferentSizesAreToldApart) {
  TreeBuilder b(33);
  std::vector<TreeId> lanes;
  for (int64_t l = 0; l < 4; ++l) lanes.push_back(b.chain(b.range(l, 8, 4)));
  std::vector<TreeId> parts = {b.folded(lanes)};
  for (int64_t begin = 8; begin < 32; begin += 2) parts.push_back(b.chain(b.range(begin, begin + 2)));
  parts.push_back(32);
  b.chain(parts);
  EXPECT_EQ(terms_in(words_of(b.tree())), 33) << words_of(b.tree());
}

}  // namespace
}  // namespace isobit::lab::reveal
