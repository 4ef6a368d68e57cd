// Small rounding logs for tests, with the outputs they may speak of.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/log/segment.h"

namespace isobit::log::testing {

using Entry = SparseEntry;

struct LogSample {
  Segment segment;
  std::vector<LoggedOutput> schema;

  Expected<Segment> decode(ByteView bytes) const {
    return decode_segment(bytes, segment.step, segment.kind(), schema, "log");
  }
};

inline Entry even(uint64_t position) { return {position, Entry::Kind::kEven, 0}; }
inline Entry odd(uint64_t position) { return {position, Entry::Kind::kOdd, 0}; }
inline Entry value(uint64_t position, float v) { return {position, Entry::Kind::kValue, v}; }

inline LogSample sparse_sample() {
  const SparseLog log{{{2, {even(3), odd(4), odd(900)}},
                       {9, {value(7, 1.0f), even(20), value(21, -2.5f), odd(22)}},
                       {300, {even(0), odd(1), odd(2), even(3)}}}};
  return {{12, log}, {{2, 0, 1000}, {3, 0, 8}, {3, 1, 8}, {9, 0, 50}, {300, 0, 4}}};
}

inline LogSample ovt_sample() {
  const OvtLog log{{{2, 0, {0, 1, 2, 1, 2, 0, 1}}, {3, 0, {2, 2, 2, 2, 2}}, {3, 1, {}}, {4, 1, {1, 1}}}};
  return {{12, log}, {{2, 0, 7}, {3, 0, 5}, {3, 1, 0}, {4, 1, 2}}};
}

inline Entry entry_named(const std::string& text) {
  size_t digits = 0;
  const uint64_t position = std::stoull(text, &digits);
  if (text[digits] == 'e') return even(position);
  if (text[digits] == 'o') return odd(position);
  const auto bits = static_cast<uint32_t>(std::stoul(text.substr(digits + 1), nullptr, 16));
  return value(position, std::bit_cast<float>(bits));
}

// Continues `sample` with one line of tests/golden/log_segment.txt.
inline void read_line(const std::string& line, LogSample& sample) {
  std::istringstream in(line);
  std::string word;
  in >> word;
  if (word == "segment") {
    std::string name, kind;
    in >> name >> kind >> sample.segment.step;
    sample.schema.clear();
    sample.segment.log = SparseLog{};
    if (kind == "ovt") sample.segment.log = OvtLog{};
  } else if (word == "schema") {
    char sign = 0;
    for (LoggedOutput o; in >> o.node >> sign >> o.output >> sign >> o.elements;) sample.schema.push_back(o);
  } else if (word == "node") {
    auto& node = std::get<SparseLog>(sample.segment.log).nodes.emplace_back();
    in >> node.node;
    while (in >> word) node.entries.push_back(entry_named(word));
  } else if (word == "output") {
    auto& output = std::get<OvtLog>(sample.segment.log).outputs.emplace_back();
    char sign = 0;
    in >> output.node >> sign >> output.output >> word;
    for (char c : word == "-" ? "" : word) output.decisions.push_back(static_cast<uint8_t>(c - '0'));
  }
}

template <class T>
void expect_error(const Expected<T>& result, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(result) << "accepted, expected: " << part;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  EXPECT_EQ(result.error().message.find("log, step "), 0u) << result.error().message;
}

}  // namespace isobit::log::testing
