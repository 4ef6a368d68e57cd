// What a decoder of rounding logs must refuse, and how it says so.
#include <zstd.h>

#include <bit>

#include "isobit/log/compression_internal.h"
#include "isobit/log/payload_internal.h"
#include "isobit/log/testing.h"

namespace isobit::log {
namespace {

using internal::Compression;
using testing::expect_error;
using testing::LogSample;

constexpr auto kRejected = ErrorCode::kRejected;
constexpr auto kUnreadable = ErrorCode::kUnreadable;

Bytes joined(Bytes front, ByteView back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

Bytes with_header(const LogSample& sample, Compression compression, ByteView payload) {
  return joined(internal::segment_header(sample.segment.kind(), sample.segment.step, compression), payload);
}

Expected<Segment> decode_payload(const LogSample& sample, std::string_view hex) {
  return sample.decode(with_header(sample, Compression::kStored, from_hex(hex).value()));
}

std::vector<LogSample> samples() { return {testing::sparse_sample(), testing::ovt_sample()}; }

TEST(LogSegmentErrors, EveryOtherByteIsRefusedOrSaysSomethingElse) {
  for (const LogSample& sample : samples()) {
    const Bytes good = internal::encode_stored(sample.segment);
    ASSERT_TRUE(sample.decode(good));
    int accepted = 0;
    for (size_t at = 0; at < good.size(); ++at) {
      for (unsigned flip = 1; flip < 256; ++flip) {
        Bytes bad = good;
        bad[at] ^= static_cast<uint8_t>(flip);
        const auto decoded = sample.decode(bad);
        if (!decoded) continue;
        ++accepted;
        ASSERT_FALSE(*decoded == sample.segment) << "byte " << at << " ^ " << flip;
        ASSERT_EQ(internal::encode_stored(*decoded), bad);
      }
    }
    EXPECT_GT(accepted, 0) << "another decision is another log";
  }
}

TEST(LogSegmentErrors, EveryTruncationAndEveryByteMoreIsRefused) {
  for (const LogSample& sample : samples()) {
    const Bytes good = internal::encode_stored(sample.segment);
    const Bytes packed = with_header(sample, Compression::kZstd, internal::zstd_compressed(ByteView(good).subspan(40)));
    for (const Bytes& whole : {good, packed}) {
      ASSERT_TRUE(sample.decode(whole));
      for (size_t size = 0; size < whole.size(); ++size) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        expect_error(sample.decode(cut), kUnreadable, "log, step 12");
      }
      expect_error(sample.decode(joined(whole, Bytes{0})), kUnreadable, "1 unexpected bytes follow");
    }
  }
}

TEST(LogSegmentErrors, CompressedBytesNeverCrash) {
  for (const LogSample& sample : samples()) {
    const Bytes good = internal::encode_stored(sample.segment);
    const Bytes frame = internal::zstd_compressed(ByteView(good).subspan(40));
    for (size_t at = 0; at < frame.size(); ++at) {
      for (unsigned flip = 1; flip < 256; ++flip) {
        Bytes bad = frame;
        bad[at] ^= static_cast<uint8_t>(flip);
        const auto decoded = sample.decode(with_header(sample, Compression::kZstd, bad));
        if (decoded) continue;
        ASSERT_EQ(decoded.error().message.find("log, step 12"), 0u);
      }
    }
  }
}

TEST(LogSegmentErrors, Header) {
  const LogSample sample = testing::sparse_sample();
  const Bytes good = internal::encode_stored(sample.segment);
  const auto with = [&](size_t at, uint8_t byte) {
    Bytes bad = good;
    bad[at] = byte;
    return sample.decode(bad);
  };
  expect_error(with(8, 'I'), kUnreadable, "field 'tag' at byte 26: is not \"isobit.log-segment\"");
  expect_error(with(26, 2), kUnreadable, "from a newer version: found 2, this isobit reads 1; update isobit");
  expect_error(with(26, 0), kUnreadable, "found 0, expected at least 1");
  expect_error(with(30, 2), kUnreadable, "field 'kind' at byte 31: found 2, expected 0 (sparse) or 1 (ovt)");
  expect_error(with(30, 1), kRejected, "field 'kind': found 1 (ovt), expected 0 (sparse): the log of another job");
  expect_error(with(31, 13), kRejected,
               "field 'step': found 13, expected 12: the segment of another step in its place");
  expect_error(with(39, 2), kUnreadable, "field 'compression' at byte 40: found 2, expected 0 (stored) or 1 (zstd)");
  expect_error(decode_segment(good, 12, Kind::kOvt, sample.schema, "log"), kRejected,
               "found 0 (sparse), expected 1 (ovt)");
  expect_error(sample.decode({}), kUnreadable, "the file is cut short");
}

// The schema of the sample: 2.0:1000 3.0:8 3.1:8 9.0:50 300.0:4.
TEST(LogSegmentErrors, SparseContent) {
  const LogSample sample = testing::sparse_sample();
  expect_error(decode_payload(sample, "06"), kRejected,
               "field 'nodes': found 6 nodes, expected at most the 5 outputs that the step graph logs");
  expect_error(decode_payload(sample, "0101"), kRejected,
               "field 'node': found entries of node 1, expected a node whose output 0 the step graph logs");
  expect_error(decode_payload(sample, "01ffffffff10"), kRejected, "found a node over 4294967295");
  expect_error(decode_payload(sample, "0103080000"), kRejected,
               "field 'entries': found 1 + 8 entries of node 3, expected at most 8");
  expect_error(decode_payload(sample, "01030040"), kUnreadable,
               "field 'parameter' at byte 4: found 64, expected at most 63");
  expect_error(decode_payload(sample, "0103000002"), kUnreadable, "found 2, expected at most the 1 entries of node 3");
  expect_error(
      decode_payload(sample, "0103000000"), kUnreadable,
      "field 'position' at byte 5: 1 codes of at least 1 bits do not fit into the bytes left; the file is cut short");
  // Gap 8, parameter 0: nine bits.
  expect_error(decode_payload(sample, "01030000000003"), kRejected,
               "field 'position': found 8 or more in entry 0 of node 3, expected less than 8");
  // Gap 7 with parameter 3: one, then 111, then the parity; parameter 2 takes 0 1 11 and ties.
  expect_error(decode_payload(sample, "01030003000f"), kUnreadable,
               "field 'position' at byte 5: found parameter 3, expected 2, which needs the fewest bits");
  expect_error(decode_payload(sample, "010300000007"), kUnreadable, "the bits after the last parity are not zero");
  expect_error(decode_payload(sample, "018300"), kUnreadable, "the number has more bytes than it needs");
  expect_error(decode_payload(sample, "01ffffffffffffffffff02"), kUnreadable, "the number is over 64 bits");
  expect_error(decode_payload(sample, "01ffffffffffffffffffff01"), kUnreadable, "the number is over 64 bits");
  expect_error(decode_payload(sample, "01030000010003000080"), kUnreadable,
               "the parities and values of node 3 do not fit into the bytes left");
  expect_error(decode_payload(sample, "010300000101030000803f"), kUnreadable, "found parameter 1, expected 0");
}

TEST(LogSegmentErrors, ASparseLogSpeaksOfOutput0Alone) {
  const LogSample sample{{12, SparseLog{{{3, {testing::odd(0)}}}}}, {{3, 1, 8}}};
  expect_error(sample.decode(encode(sample.segment)), kRejected,
               "found entries of node 3, expected a node whose output 0");
}

TEST(LogSegmentErrors, NodesOfASparseLogAreInOrderByConstruction) {
  // Numbers of nodes are distances from the one before, so no bytes say "the same node again".
  const LogSample sample = testing::sparse_sample();
  expect_error(decode_payload(sample, "0203000000030000000003"), kRejected, "found entries of node 4");
}

// The schema of the sample: 2.0:7 3.0:5 3.1:0 4.1:2.
TEST(LogSegmentErrors, OvtContent) {
  const LogSample sample = testing::ovt_sample();
  const Bytes good = internal::ovt_payload(std::get<OvtLog>(sample.segment.log));
  const auto with = [&](size_t at, uint8_t byte) {
    Bytes bad = good;
    bad[at] = byte;
    return sample.decode(with_header(sample, Compression::kStored, bad));
  };
  expect_error(with(0, 3), kRejected, "field 'node': found output 0 of node 3, expected output 0 of node 2");
  expect_error(with(22, 1), kRejected, "found output 1 of node 3, expected output 0 of node 3");
  expect_error(with(8, 8), kRejected,
               "field 'elements': found 8 decisions for output 0 of node 2, expected 7: the log of another job");
  expect_error(with(15, 0x80), kRejected, "decisions for output 0 of node 2, expected 7");
  expect_error(with(16, 243), kUnreadable,
               "found byte 243 for five decisions of output 0 of node 2, expected at most 242");
  expect_error(with(17, 12), kUnreadable, "the digits after the last decision of output 0 of node 2 are not zero");
  LogSample missing = sample;
  std::get<OvtLog>(missing.segment.log).outputs.erase(std::get<OvtLog>(missing.segment.log).outputs.begin());
  expect_error(sample.decode(encode(missing.segment)), kRejected, "expected output 0 of node 2");
}

TEST(LogSegmentErrors, Frames) {
  const LogSample sample = testing::sparse_sample();
  const auto decode = [&](ByteView frame) { return sample.decode(with_header(sample, Compression::kZstd, frame)); };
  const Bytes payload = internal::sparse_payload(std::get<SparseLog>(sample.segment.log));
  const Bytes frame = internal::zstd_compressed(payload);
  ASSERT_TRUE(decode(frame));
  expect_error(decode(payload), kUnreadable, "field 'payload': is no zstd frame, expected the first bytes 28b52ffd");
  expect_error(decode(ByteView(frame).first(frame.size() - 1)), kUnreadable, "the zstd frame is cut short");
  expect_error(decode(joined(frame, frame)), kUnreadable, "unexpected bytes follow the zstd frame");
  const Bytes skippable{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};  // a frame without content
  expect_error(decode(joined(skippable, frame)), kUnreadable, "is no zstd frame");
  Bytes bad = frame;
  bad[4] ^= 0x08;  // a reserved bit of the frame header
  expect_error(decode(bad), kUnreadable, "the zstd frame is damaged");
}

TEST(LogSegmentErrors, ABombStopsEarly) {
  const Bytes bomb = internal::zstd_compressed(Bytes(64 << 20));
  EXPECT_LT(bomb.size(), 10000u);
  for (const LogSample& sample : samples()) {
    expect_error(sample.decode(with_header(sample, Compression::kZstd, bomb)), kRejected,
                 "the most that this step can need");
  }
}

TEST(LogSegmentErrors, AnotherLevelOfCompressionIsTheSameLog) {
  LogSample sample{{9, OvtLog{{{4, 0, std::vector<uint8_t>(50000, 1)}}}}, {{4, 0, 50000}}};
  auto& decisions = std::get<OvtLog>(sample.segment.log).outputs[0].decisions;
  for (size_t i = 0; i < decisions.size(); i += 13) decisions[i] = static_cast<uint8_t>(i % 3);
  const Bytes payload = internal::ovt_payload(std::get<OvtLog>(sample.segment.log));
  Bytes frame(ZSTD_compressBound(payload.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), payload.data(), payload.size(), 19));
  const Bytes other = with_header(sample, Compression::kZstd, frame);
  const Bytes own = encode(sample.segment);
  ASSERT_NE(own, other);
  EXPECT_EQ(sample.decode(other).value(), sample.decode(own).value());
}

}  // namespace
}  // namespace isobit::log
