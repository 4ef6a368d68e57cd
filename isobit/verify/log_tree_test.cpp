#include "isobit/verify/log_tree.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "isobit/log/testing.h"

namespace isobit::verify {
namespace {

// Several chunks an output, the last one full or not.
log::Segment large_sparse() {
  log::SparseLog log;
  uint32_t node = 3;
  for (const uint64_t entries : {uint64_t{1}, kEntriesPerChunk, 2 * kEntriesPerChunk + 5}) {
    log.nodes.push_back({node, {}});
    for (uint64_t i = 0; i < entries; ++i) {
      log.nodes.back().entries.push_back(i % 3 == 0 ? log::testing::value(3 * i, 0.5f) : log::testing::odd(3 * i));
    }
    node += 2;
  }
  return {7, log};
}

log::Segment large_ovt() {
  log::OvtLog log;
  uint32_t node = 3;
  for (const uint64_t elements : {uint64_t{0}, uint64_t{7}, kDecisionsPerChunk, kDecisionsPerChunk + 3}) {
    log.outputs.push_back({node, node % 2, std::vector<uint8_t>(elements)});
    for (uint64_t i = 0; i < elements; ++i) log.outputs.back().decisions[i] = static_cast<uint8_t>(i % 3);
    ++node;
  }
  return {7, log};
}

TEST(LogTree, ChunksAreFullButForTheLastOfAnOutput) {
  std::vector<uint64_t> sizes;
  for (const LogChunk& chunk : log_chunks(large_sparse())) sizes.push_back(chunk.size());
  EXPECT_EQ(sizes, (std::vector<uint64_t>{1, 4096, 4096, 4096, 5}));
  sizes.clear();
  for (const LogChunk& chunk : log_chunks(large_ovt())) sizes.push_back(chunk.size());
  EXPECT_EQ(sizes, (std::vector<uint64_t>{0, 7, 65536, 65536, 3}));
}

// So the root is a function of the decoded entries alone: a compressor that packs them otherwise changes nothing.
TEST(LogTree, RootsAgreeWithTheGoldenFile) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/golden/log_segment.txt");
  ASSERT_TRUE(file) << "run from the root of the tree, or set ISOBIT_SOURCE_DIR";
  log::testing::LogSample sample;
  int roots = 0;
  for (std::string line; std::getline(file, line);) {
    log::testing::read_line(line, sample);
    if (!line.starts_with("digest ")) continue;
    EXPECT_EQ(commit::hex_of(log_segment_root(sample.segment)), line.substr(7));
    ++roots;
  }
  EXPECT_EQ(roots, 11);
}

TEST(LogTree, OpensEveryChunkUnderTheMessageLimit) {
  for (const log::Segment& segment :
       {large_sparse(), large_ovt(), log::testing::sparse_sample().segment, log::testing::ovt_sample().segment}) {
    const LogTree tree(segment);
    EXPECT_EQ(tree.root(), log_segment_root(segment));
    for (uint64_t i = 0; i < tree.chunks().size(); ++i) {
      const Bytes bytes = encode(tree.prove(i));
      EXPECT_LT(bytes.size(), 64u << 10);
      const auto proof = decode_log_chunk_proof(bytes, "proof");
      ASSERT_TRUE(proof) << proof.error().message;
      EXPECT_EQ(proof->chunk, tree.chunks()[i]);
      EXPECT_TRUE(verify_log_chunk(*proof, segment.step, tree.root()));
      EXPECT_FALSE(verify_log_chunk(*proof, segment.step + 1, tree.root()));
      EXPECT_FALSE(verify_log_chunk(*proof, segment.step, {}));
    }
  }
}

TEST(LogTree, EveryEntryAndItsPlaceReachTheRoot) {
  const log::Segment segment = log::testing::sparse_sample().segment;
  const auto with = [&](auto change) {
    log::Segment other = segment;
    change(std::get<log::SparseLog>(other.log));
    return log_segment_root(other);
  };
  const commit::Digest root = log_segment_root(segment);
  EXPECT_NE(with([](log::SparseLog& l) { l.nodes[0].node = 1; }), root);
  EXPECT_NE(with([](log::SparseLog& l) { l.nodes[0].entries[0].position = 2; }), root);
  EXPECT_NE(with([](log::SparseLog& l) { l.nodes[0].entries[0].kind = log::testing::Entry::Kind::kOdd; }), root);
  EXPECT_NE(with([](log::SparseLog& l) { l.nodes[1].entries[0].value = 2; }), root);
  EXPECT_NE(with([](log::SparseLog& l) { l.nodes[1].entries.pop_back(); }), root);
  EXPECT_NE(with([](log::SparseLog& l) { l.nodes.pop_back(); }), root);
  EXPECT_NE(log_segment_root({1, log::SparseLog{}}), log_segment_root({1, log::OvtLog{}})) << "the kind is bound";
  EXPECT_NE(log_segment_root({1, log::SparseLog{}}), log_segment_root({2, log::SparseLog{}})) << "and the step";
}

TEST(LogAbsence, IsProvedForExactlyTheNodesWithoutEntries) {
  for (const log::Segment& segment : {log::testing::sparse_sample().segment, log::Segment{12, log::SparseLog{}}}) {
    const LogTree tree(segment);
    for (uint32_t node = 0; node < 310; ++node) {
      const auto proof = tree.prove_absence(node, 0);
      const bool empty = tree.chunks().empty();
      ASSERT_EQ(proof.has_value(), empty || (node != 2 && node != 9 && node != 300)) << node;
      if (!proof) continue;
      const auto back = decode_log_absence_proof(encode(*proof), "proof");
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, *proof);
      EXPECT_TRUE(verify_log_absence(*back, node, 0, 12, log::Kind::kSparse, tree.root())) << node;
      EXPECT_FALSE(verify_log_absence(*back, node, 0, 12, log::Kind::kOvt, tree.root())) << node;
      EXPECT_FALSE(verify_log_absence(*back, node, 0, 13, log::Kind::kSparse, tree.root())) << node;
    }
  }
}

// Chunks that are in the log, but not the two that would have to stand side by side.
TEST(LogAbsence, OtherChunksDoNotProveIt) {
  const LogTree tree(log::testing::sparse_sample().segment);  // nodes 2, 9 and 300
  const auto check = [&](const LogAbsenceProof& proof, uint32_t node) {
    return verify_log_absence(proof, node, 0, 12, log::Kind::kSparse, tree.root()).has_value();
  };
  const LogChunkProof two = tree.prove(0), nine = tree.prove(1), last = tree.prove(2);
  EXPECT_TRUE(check({two, nine}, 5));
  EXPECT_FALSE(check({two, last}, 9)) << "what stands between them is passed over";
  EXPECT_FALSE(check({two, nine}, 2));
  EXPECT_FALSE(check({two, nine}, 9));
  EXPECT_FALSE(check({two, std::nullopt}, 9));
  EXPECT_FALSE(check({std::nullopt, nine}, 2));
  EXPECT_FALSE(check({nine, two}, 5));
  EXPECT_FALSE(check({}, 5)) << "the log is not empty";
  LogChunkProof forged = nine;
  forged.chunk.node = 10;
  EXPECT_FALSE(check({two, forged}, 9));
}

TEST(LogChunk, OnlyCanonicalBytesDecode) {
  for (const log::Segment& segment : {log::testing::sparse_sample().segment, log::testing::ovt_sample().segment}) {
    for (const LogChunk& chunk : log_chunks(segment)) {
      const Bytes good = encode(chunk);
      EXPECT_EQ(decode_log_chunk(good, "chunk").value(), chunk);
      for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_log_chunk(ByteView(good).first(n), "chunk"));
      for (size_t bit = 0; bit < good.size() * 8; ++bit) {
        Bytes bad = good;
        bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        const auto decoded = decode_log_chunk(bad, "chunk");
        if (decoded) {
          EXPECT_EQ(encode(*decoded), bad) << bit;
        }
      }
    }
  }
  LogChunk chunk = log_chunks(log::testing::sparse_sample().segment)[0];
  chunk.first = 1;
  EXPECT_FALSE(decode_log_chunk(encode(chunk), "chunk")) << "no chunk begins there";
  chunk.first = 0;
  chunk.output = 1;
  EXPECT_FALSE(decode_log_chunk(encode(chunk), "chunk"));
  chunk.output = 0;
  auto& entries = std::get<std::vector<log::SparseEntry>>(chunk.log);
  std::swap(entries[0], entries[1]);
  EXPECT_FALSE(decode_log_chunk(encode(chunk), "chunk")) << "out of order";
}

}  // namespace
}  // namespace isobit::verify
