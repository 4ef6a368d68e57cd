#include "isobit/verify/log_tree.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

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

// Every element of a node has one place in the tree, with an entry or without.
TEST(LogEntry, IsShownOfEveryElement) {
  for (const log::Segment& segment : {large_sparse(), log::Segment{7, log::SparseLog{}}}) {
    const LogTree tree(segment);
    std::map<std::pair<uint32_t, uint64_t>, log::SparseEntry> entries;
    for (const log::SparseNode& node : std::get<log::SparseLog>(segment.log).nodes) {
      for (const log::SparseEntry& e : node.entries) entries[{node.node, e.position}] = e;
    }
    const uint64_t turn = 3 * kEntriesPerChunk;  // where chunks meet
    for (uint32_t node = 0; node < 10; ++node) {
      for (const uint64_t position :
           {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, turn - 4, turn - 3, turn - 2, turn - 1, turn, turn + 1,
            2 * turn - 1, 2 * turn, 2 * turn + 12, 2 * turn + 13, 3 * turn}) {
        const auto back = decode_log_absence_proof(encode(tree.prove_entry(node, position)), "proof");
        ASSERT_TRUE(back) << back.error().message;
        const auto shown = shown_entry(*back, node, position, 7, tree.root());
        ASSERT_TRUE(shown) << node << ", " << position << ": " << shown.error().message;
        const auto found = entries.find({node, position});
        EXPECT_EQ(*shown, found == entries.end() ? std::nullopt : std::optional(found->second))
            << node << ", " << position;
        EXPECT_FALSE(shown_entry(*back, node, position, 8, tree.root()));
      }
    }
  }
}

TEST(LogEntry, OtherChunksDoNotShowIt) {
  const LogTree tree(large_sparse());  // nodes 3, 5 and 7: chunks 0; 1; 2 to 4
  const auto shows = [&](const LogAbsenceProof& proof, uint32_t node, uint64_t position) {
    return shown_entry(proof, node, position, 7, tree.root()).has_value();
  };
  const uint64_t turn = 3 * kEntriesPerChunk;
  EXPECT_TRUE(shows({tree.prove(1), std::nullopt}, 5, 4));
  EXPECT_FALSE(shows({std::nullopt, tree.prove(1)}, 5, 4));
  EXPECT_FALSE(shows({tree.prove(1), tree.prove(2)}, 5, 4)) << "an entry may stand within the first";
  EXPECT_FALSE(shows({tree.prove(0), tree.prove(2)}, 5, 4)) << "the chunk that holds it is passed over";
  EXPECT_TRUE(shows({tree.prove(2), tree.prove(3)}, 7, turn - 1));
  EXPECT_FALSE(shows({tree.prove(2), tree.prove(4)}, 7, turn - 1));
  EXPECT_FALSE(shows({tree.prove(3), tree.prove(4)}, 7, turn - 1));
  EXPECT_FALSE(shows({tree.prove(2), std::nullopt}, 7, turn - 1));
  EXPECT_FALSE(shows({}, 5, 4)) << "the log is not empty";
  const LogTree ovt(large_ovt());
  EXPECT_FALSE(shown_entry({ovt.prove(1), std::nullopt}, 4, 0, 7, ovt.root())) << "of the other kind";
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
