#include "isobit/verify/receipt.h"

#include <gtest/gtest.h>

#include "isobit/verify/testing.h"

namespace isobit::verify {
namespace {

using testing::digest_of;
using testing::key_of;

InferenceReceipt example() {
  InferenceReceipt r;
  r.of.files = digest_of("files");
  r.of.graph = digest_of("graph");
  r.of.schema = digest_of("schema");
  r.of.arithmetic = "ordered-1";
  r.of.inputs = {{"x", DType::kFloat32, {1, 3}, digest_of("x")}, {"ids", DType::kInt64, {}, digest_of("ids")}};
  r.of.outputs = {"y"};
  r.outputs = {{"y", DType::kFloat32, {1, 2}, digest_of("y")}};
  r.trace = digest_of("trace");
  r.challenge = Bytes(16, 7);
  r.made_by = "isobit 0.1.0";
  r.sign(key_of(1));
  return r;
}

TEST(Receipt, GoesThroughItsBytes) {
  const InferenceReceipt r = example();
  EXPECT_EQ(decode_receipt(encode(r), "r").value(), r);
  InferenceReceipt bare = r;
  bare.of.schema.reset();
  bare.trace.reset();
  bare.of.inputs.clear();
  bare.sign(key_of(1));
  EXPECT_EQ(decode_receipt(encode(bare), "r").value(), bare);
  EXPECT_TRUE(verify_receipt(bare));
}

// Fixed for good: docs/formats/receipt.md. The digests are what tests/oracles/receipt_oracle.py makes of that page.
TEST(Receipt, HasTheseBytes) {
  EXPECT_EQ(commit::hex_of(commit::sha256(encode(example()))),
            "1691cbb36e90a223a32d093b9fef94d8286bac3f5a443f60d3861871044aedbc");
}

TEST(Receipt, HasTheDigestsOfItsPage) {
  EXPECT_EQ(commit::hex_of(example().of.digest()), "89583e8affbf195e5331861c694ed733c84eb747c9013823b72a010137fd5509");
  EXPECT_EQ(to_hex(example().id()), "dfed52484903b56da730289a39256350");
}

TEST(Receipt, EveryFlippedBitIsRefusedOrNotSigned) {
  const InferenceReceipt r = example();
  const Bytes bytes = encode(r);
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    Bytes other = bytes;
    other[i / 8] ^= static_cast<uint8_t>(1 << (i % 8));
    const auto decoded = decode_receipt(other, "r");
    if (!decoded) {
      EXPECT_EQ(decoded.error().code, ErrorCode::kUnreadable);
      continue;
    }
    EXPECT_EQ(encode(*decoded), other);
    EXPECT_FALSE(verify_receipt(*decoded)) << "bit " << i;
  }
}

TEST(Receipt, EveryTruncationIsRefused) {
  const Bytes bytes = encode(example());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_receipt(ByteView(bytes).first(size), "r")) << size;
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(decode_receipt(longer, "r"));
}

TEST(Receipt, WhatIsOverALimitIsRefused) {
  InferenceReceipt r = example();
  r.challenge.resize(kMinChallenge - 1);
  r.sign(key_of(1));
  EXPECT_NE(decode_receipt(encode(r), "r").error().message.find("challenge"), std::string::npos);
  r = example();
  r.of.inputs[1].name = "x";
  EXPECT_NE(decode_receipt(encode(r), "r").error().message.find("twice"), std::string::npos);
  r = example();
  r.of.schema.reset();
  EXPECT_NE(decode_receipt(encode(r), "r").error().message.find("trace"), std::string::npos);
  r = example();
  r.of.inputs[0].dims = {INT64_MAX, 2};
  EXPECT_NE(decode_receipt(encode(r), "r").error().message.find("dimension"), std::string::npos);
  r = example();
  r.of.inputs.clear();
  for (size_t i = 0; i <= kMaxReceiptTensors; ++i) {
    r.of.inputs.push_back({std::to_string(i), DType::kFloat32, {}, {}});
  }
  EXPECT_NE(decode_receipt(encode(r), "r").error().message.find("inputs"), std::string::npos);
}

TEST(Receipt, TheComputationIsNamedByEverythingThatDecidesIt) {
  const Computation of = example().of;
  std::vector<Computation> others(7, of);
  others[0].files[0] ^= 1;
  others[1].graph[0] ^= 1;
  others[2].schema.reset();
  others[3].arithmetic = "correct-1";
  others[4].inputs[0].root[0] ^= 1;
  others[5].inputs[0].name = "z";
  others[6].outputs[0] = "z";
  for (const Computation& other : others) EXPECT_NE(other.digest(), of.digest());
  InferenceReceipt next = example();
  next.challenge[0] ^= 1;
  EXPECT_EQ(next.of.digest(), of.digest());
  EXPECT_NE(next.id(), example().id());
}

TEST(Receipt, ModelFilesAreNamedInTheirOrder) {
  const ModelFile a{"", digest_of("a")}, b{"w.bin", digest_of("b")}, c{"v.bin", digest_of("b")};
  EXPECT_NE(model_files_digest({a}), model_files_digest({a, b}));
  EXPECT_NE(model_files_digest({a, b}), model_files_digest({a, c}));
}

}  // namespace
}  // namespace isobit::verify
