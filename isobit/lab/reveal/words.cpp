#include "isobit/lab/reveal/words.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::lab::reveal {

namespace {

constexpr size_t kMostListed = 12;

template <class List, class Text>
std::string listed(const List& list, Text text) {
  std::string out;
  for (size_t i = 0; i < list.size() && i < kMostListed; ++i) {
    append_text(out, i > 0 ? ", " : "");
    append_text(out, text(list[i]));
  }
  return list.size() > kMostListed ? out + text_of(" ... (", list.size(), " in all)") : out;
}

std::string chain_words(const Description& d) {
  std::string out = text_of(d.terms, " terms");
  if (d.step == 0) {
    if (d.loops.empty()) return out + " one after another, in no regular order";
    out += " one after another in nested loops: ";
    return out + listed(d.loops, [&](const Description::Loop& l) {
             return &l == d.loops.data() ? text_of(l.times, " terms ", l.distance, " apart")
                                         : text_of("that ", l.times, " times, each ", l.distance, " further on");
           });
  }
  const int64_t apart = d.step < 0 ? -d.step : d.step;
  if (apart != 1) append_text(out, text_of(", ", apart, " apart,"));
  append_text(out, d.step > 0 ? " in ascending order" : " in descending order");
  if (d.at_a_time > 1) append_text(out, text_of(", ", d.at_a_time, " at a time in one operation with the accumulator"));
  return out;
}

bool all_of_one_kind(const std::vector<Description>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const Description& p) { return same_kind(p, parts[0]); });
}

// Whether the words of one say all of the other, but for where it begins.
bool alike(const Description& a, const Description& b) {
  return same_kind(a, b) && a.terms == b.terms && a.loops == b.loops &&
         std::ranges::equal(a.parts, b.parts, [](const Description& x, const Description& y) { return alike(x, y); });
}

bool all_alike(const std::vector<Description>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const Description& p) { return alike(p, parts[0]); });
}

// What all are, or each by itself.
std::string parts_words(const Description& d) {
  if (all_alike(d.parts)) return d.parts[0].pattern == Pattern::kTerm ? "" : "; each: " + words_of(d.parts[0]);
  std::string out;
  for (size_t i = 0; i < d.parts.size();) {
    size_t end = i + 1;
    while (end < d.parts.size() && alike(d.parts[i], d.parts[end])) ++end;
    const size_t n = end - i;
    const bool single = d.parts[i].pattern == Pattern::kTerm && n > 1;
    append_text(out, i == 0 ? ": first " : "; then ");
    append_text(out, single ? text_of(n, " single terms from ", d.parts[i].first)
                            : text_of(n > 1 ? text_of(n, " of ") : std::string(), "[", words_of(d.parts[i]), "]"));
    i = end;
  }
  return out;
}

std::string blocks_words(const Description& d) {
  if (!all_of_one_kind(d.parts)) return text_of(d.count, " parts added one after another", parts_words(d));
  const bool equal =
      std::all_of(d.parts.begin(), d.parts.end(), [&](const Description& p) { return p.terms == d.parts[0].terms; });
  const bool apart =
      std::all_of(d.parts.begin(), d.parts.end(), [](const Description& p) { return p.last - p.first + 1 == p.terms; });
  const char* parts = apart ? " blocks" : " interleaved parts";
  std::string out = equal ? text_of(d.count, parts, " of ", d.parts[0].terms, " terms added one after another")
                          : text_of(d.count, parts, " added one after another, of ",
                                    listed(d.parts, [](const Description& p) { return text_of(p.terms); }), " terms");
  const auto& last = d.parts.back();
  if (last.first < d.parts.front().first) append_text(out, ", the last block first");
  if (all_alike(d.parts)) return out + parts_words(d);
  append_text(out, equal ? "; one of them: " : "; the largest: ");
  return out + words_of(*std::ranges::max_element(d.parts, {}, &Description::terms));
}

std::string pairs_words(const Description& d) {
  const bool lanes = d.pattern == Pattern::kLanes;
  const int64_t each = d.terms / d.count;
  std::string out = text_of(d.count, each == 1 ? " terms" : lanes ? " partial sums" : " blocks");
  if (!lanes && each > 1) append_text(out, text_of(" of ", each, " terms"));
  out += ", combined pairwise";
  if (d.count > 2) {
    append_text(out, lanes ? ", distances " : ", neighbours first, distances ");
    append_text(out, listed(d.distances, [](int64_t distance) { return text_of(distance); }));
  }
  return out + parts_words(d);
}

}  // namespace

bool same_kind(const Description& a, const Description& b) {
  const auto is_term = [](const Description& d) { return d.pattern == Pattern::kTerm; };
  if (is_term(a) && b.pattern == Pattern::kChain) return b.at_a_time == 1;
  if (is_term(b) && a.pattern == Pattern::kChain) return a.at_a_time == 1;
  if (a.pattern != b.pattern || a.at_a_time != b.at_a_time || a.step != b.step) return false;
  switch (a.pattern) {
    case Pattern::kTerm:
    case Pattern::kChain:
      return a.loops.size() == b.loops.size();
    case Pattern::kLanes:
    case Pattern::kHalves:
      return a.count == b.count && a.distances == b.distances && same_kind(a.parts[0], b.parts[0]);
    case Pattern::kBlocks:
    case Pattern::kFused:
      return all_of_one_kind(a.parts) && all_of_one_kind(b.parts) && same_kind(a.parts[0], b.parts[0]);
    case Pattern::kIrregular:
      return false;
  }
  return false;
}

std::string words_of(const Description& d) {
  switch (d.pattern) {
    case Pattern::kTerm:
      return text_of("term ", d.first);
    case Pattern::kChain:
      return chain_words(d);
    case Pattern::kBlocks:
      return blocks_words(d);
    case Pattern::kLanes:
    case Pattern::kHalves:
      return pairs_words(d);
    case Pattern::kFused:
      return text_of(d.count, " operands in one operation", parts_words(d));
    case Pattern::kIrregular:
      break;
  }
  if (d.parts.empty()) return text_of(d.terms, " terms in no regular order");
  return text_of("[", words_of(d.parts[0]), "] plus [", words_of(d.parts[1]), "]");
}

}  // namespace isobit::lab::reveal
