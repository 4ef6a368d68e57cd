// Small rounding logs for tests, with the outputs they may speak of.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "isobit/verify/log_segment.h"

namespace isobit::verify::testing {

using runtime::LoggedOutput;
using runtime::OvtLog;
using runtime::SparseLog;
using Entry = runtime::SparseEntry;

struct LogSample {
  LogSegment segment;
  std::vector<LoggedOutput> schema;

  Expected<LogSegment> decode(ByteView bytes) const {
    return decode_log_segment(bytes, segment.step, segment.kind(), schema, "log");
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

template <class T>
void expect_error(const Expected<T>& result, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(result) << "accepted, expected: " << part;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  EXPECT_EQ(result.error().message.find("log, step "), 0u) << result.error().message;
}

}  // namespace isobit::verify::testing
