#include "isobit/log/segment.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "isobit/log/payload_internal.h"
#include "isobit/log/testing.h"

namespace isobit::log {
namespace {

using testing::Entry;
using testing::LogSample;

void expect_round_trip(const LogSample& sample) {
  for (const Bytes& bytes : {encode(sample.segment), internal::encode_stored(sample.segment)}) {
    const auto back = sample.decode(bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, sample.segment);
    EXPECT_EQ(encode(*back), encode(sample.segment));
  }
  EXPECT_LE(encode(sample.segment).size(), internal::encode_stored(sample.segment).size());
}

TEST(LogSegment, SamplesRoundTrip) {
  expect_round_trip(testing::sparse_sample());
  expect_round_trip(testing::ovt_sample());
  expect_round_trip({{1, SparseLog{}}, {}});
  expect_round_trip({{1, OvtLog{}}, {}});
}

// Positions and kinds from rapidcheck; the outputs are as large as they must be, and some have no entries.
LogSample sparse_of(const std::map<uint16_t, std::map<uint32_t, std::pair<uint8_t, uint32_t>>>& nodes, uint64_t step) {
  LogSample sample{{step, SparseLog{}}, {}};
  auto& log = std::get<SparseLog>(sample.segment.log);
  for (const auto& [node, entries] : nodes) {
    SparseNode out{node, {}};
    for (const auto& [position, decision] : entries) {
      const auto kind = decision.first % 8 == 0 ? Entry::Kind::kValue : static_cast<Entry::Kind>(decision.first % 2);
      const bool finite = decision.second << 1 < 0xff000000u;  // a NaN would not equal itself
      const uint32_t bits = kind == Entry::Kind::kValue && finite ? decision.second : 0;
      out.entries.push_back({position, kind, std::bit_cast<float>(bits)});
    }
    sample.schema.push_back({node, 0, entries.empty() ? 5 : entries.rbegin()->first + uint64_t{1} + node % 3});
    if (node % 2 == 1) sample.schema.push_back({node, 1, 7});
    if (!out.entries.empty()) log.nodes.push_back(std::move(out));
  }
  return sample;
}

RC_GTEST_PROP(LogSegment, SparseRoundTrips,
              (std::map<uint16_t, std::map<uint32_t, std::pair<uint8_t, uint32_t>>> nodes, uint64_t step)) {
  const LogSample sample = sparse_of(nodes, step);
  for (const Bytes& bytes : {encode(sample.segment), internal::encode_stored(sample.segment)}) {
    const auto back = sample.decode(bytes);
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == sample.segment);
  }
  const uint64_t payload = internal::sparse_payload(std::get<SparseLog>(sample.segment.log)).size();
  RC_ASSERT(payload <= internal::max_sparse_payload(sample.schema));
}

RC_GTEST_PROP(LogSegment, OvtRoundTrips,
              (std::map<std::pair<uint16_t, uint8_t>, std::vector<uint8_t>> outputs, uint64_t step)) {
  LogSample sample{{step, OvtLog{}}, {}};
  for (auto& [id, decisions] : outputs) {
    for (auto& decision : decisions) decision %= 3;
    std::get<OvtLog>(sample.segment.log).outputs.push_back({id.first, id.second, decisions});
    sample.schema.push_back({id.first, id.second, decisions.size()});
  }
  for (const Bytes& bytes : {encode(sample.segment), internal::encode_stored(sample.segment)}) {
    const auto back = sample.decode(bytes);
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == sample.segment);
  }
  const uint64_t payload = internal::ovt_payload(std::get<OvtLog>(sample.segment.log)).size();
  RC_ASSERT(payload == internal::ovt_payload_size(sample.schema));
}

TEST(LogSegment, EveryElementLoggedByItsValueFits) {
  LogSample sample{{3, SparseLog{{{1, {}}}}}, {{1, 0, 5000}}};
  for (uint64_t i = 0; i < 5000; ++i) {
    std::get<SparseLog>(sample.segment.log).nodes[0].entries.push_back(testing::value(i, static_cast<float>(i)));
  }
  EXPECT_LT(encode(sample.segment).size(), internal::encode_stored(sample.segment).size());
  expect_round_trip(sample);
}

// One decision in 100,000 at random places: `nodes` equal outputs, 10,000 entries together.
LogSample random_sparse(uint64_t entries_per_node, uint32_t nodes) {
  std::mt19937_64 random(7);
  LogSample sample{{9, SparseLog{}}, {}};
  auto& log = std::get<SparseLog>(sample.segment.log);
  for (uint32_t n = 0; n < nodes; ++n) {
    const uint64_t elements = entries_per_node * 100000;
    std::map<uint64_t, Entry> entries;
    while (entries.size() < entries_per_node) {
      const uint64_t at = random() % elements;
      entries[at] = random() % 2 != 0 ? testing::odd(at) : testing::even(at);
    }
    log.nodes.push_back({3 * n, {}});
    for (const auto& [at, entry] : entries) log.nodes.back().entries.push_back(entry);
    sample.schema.push_back({3 * n, 0, elements});
  }
  return sample;
}

TEST(LogSegment, SparseTakesUnder20BitsAnEntryAtADensityOf1e5th) {
  for (const uint32_t nodes : {1u, 10u, 100u}) {
    const LogSample sample = random_sparse(10000 / nodes, nodes);
    const double bits = 8.0 * static_cast<double>(encode(sample.segment).size()) / 10000;
    RecordProperty("bits_per_entry_" + std::to_string(nodes) + "_nodes", std::to_string(bits));
    EXPECT_LT(bits, 20) << nodes;
    EXPECT_GT(bits, 19) << nodes << ": less than the entropy";
    expect_round_trip(sample);
  }
}

TEST(LogSegment, OvtIsCompressed) {
  LogSample sample{{9, OvtLog{{{4, 0, std::vector<uint8_t>(1000000, 1)}}}}, {{4, 0, 1000000}}};
  auto& decisions = std::get<OvtLog>(sample.segment.log).outputs[0].decisions;
  for (size_t i = 0; i < decisions.size(); i += 97) decisions[i] = static_cast<uint8_t>(i % 3);
  EXPECT_EQ(internal::encode_stored(sample.segment).size(), 40u + 16 + 200000);
  EXPECT_LT(encode(sample.segment).size(), 50000u);
  expect_round_trip(sample);
}

TEST(LogSegment, AgreesWithTheGoldenFile) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/golden/log_segment.txt");
  ASSERT_TRUE(file) << "run from the root of the tree, or set ISOBIT_SOURCE_DIR";
  LogSample sample;
  int segments = 0;
  for (std::string line; std::getline(file, line);) {
    testing::read_line(line, sample);
    if (line.starts_with("bytes ")) {
      const Bytes bytes = from_hex(line.substr(6)).value();
      EXPECT_EQ(to_hex(internal::encode_stored(sample.segment)), line.substr(6));
      const auto back = sample.decode(bytes);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, sample.segment) << line;
      ++segments;
    }
  }
  EXPECT_EQ(segments, 11);
}

}  // namespace
}  // namespace isobit::log
