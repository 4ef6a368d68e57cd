// Receipts in spot checks and disputes: honest ones pass, false ones are convicted at the operator and the element.
#include "isobit/lab/receipt_game.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "isobit/adversary/false_value.h"
#include "isobit/dispute/inference.h"
#include "isobit/dispute/record.h"
#include "isobit/dispute/spot_check.h"
#include "isobit/dispute/spot_record.h"
#include "isobit/onnx/model_for_test.h"
#include "isobit/run/spot_run.h"

namespace isobit::lab {
namespace {

using adversary::FalseValue;
using dispute::Level;
using dispute::Outcome;
using onnx::ModelForTest;

commit::SecretKey key_of(uint8_t number) {
  commit::SecretKey::Seed seed{};
  seed.fill(number);
  return commit::SecretKey::from_seed(seed);
}

std::vector<float> numbers(size_t n) {
  std::vector<float> values;
  for (size_t i = 0; i < n; ++i) values.push_back(static_cast<float>((i * 37 + 11) % 101) / 97.0f - 0.4f);
  return values;
}

class ReceiptGame : public ::testing::TestWithParam<const char*> {
 protected:
  ReceiptGame() : folder_(fs::temp_directory_path() / ("isobit_receipt_game_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    request_.model = folder_ / "m.onnx";
    request_.arithmetic = GetParam();
    // A sum of 1,500 terms is shown in parts; a softmax has statistics.
    ModelForTest model;
    model.input("x", {2, 1500});
    model.initializer("w", onnx::floats({1500, 3}, numbers(4500))).initializer("b", onnx::floats({3}, {0.1f, 0.2f, 2}));
    model.node("MatMul", {"x", "w"}, {"h"});
    model.node("Add", {"h", "b"}, {"s"});
    model.node("Tanh", {"s"}, {"t"});
    model.node("Softmax", {"t"}, {"y"});
    model.output("t").output("y").write(request_.model);
  }
  ~ReceiptGame() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  verify::InferenceReceipt receipt(uint8_t key, bool trace, runtime::Stage* stage = nullptr) const {
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    return infer_with_receipt(request_, {Bytes(16, key), "test", trace}, key_of(key), engine, stage).value().receipt;
  }
  ReceiptSide side(uint8_t key, bool trace, runtime::Stage* stage = nullptr) const {
    return {receipt(key, trace, stage), request_, platform::parse_platform("ordered@portable/1t").value(), key_of(key),
            stage};
  }
  // The record leads to the verdict again, for who has nothing but the receipt.
  static run::DisputeResult settled(const ReceiptSide& server, const ReceiptSide& challenger) {
    auto result = dispute_receipts({server, challenger, nullptr, nullptr}).value();
    const dispute::Record record{{}, result.record, {}, server.receipt};
    const Bytes bytes = encode(record);
    const dispute::Record read = dispute::decode_record(bytes, "record").value();
    EXPECT_EQ(read, record);
    const auto replayed = dispute::replay(read, dispute::subject_of(*read.receipt).value());
    EXPECT_EQ(replayed.value().verdict, result.verdict);
    return result;
  }
  // The server of `side` answers about its receipt. What is found its messages prove, to who has nothing but these.
  static std::unique_ptr<dispute::SpotCheck> spot(const ReceiptSide& side, uint64_t draws, uint8_t seed = 1) {
    auto server = ReceiptSpotSide::open(side).value();
    auto check =
        std::make_unique<dispute::SpotCheck>(dispute::subject_of(side.receipt).value(), Bytes(16, seed), draws);
    dispute::SpotRecord record{{}, Bytes(16, seed), draws, std::nullopt, {}, side.receipt};
    const auto ask = [&](const Bytes& q) { return server->answer(q); };
    const Status done = run::run_spot_check(*check, ask, nullptr, &record.messages);
    EXPECT_TRUE(done) << done.error().message;
    expect_proof(record, check->finding());
    return check;
  }
  static void expect_proof(const dispute::SpotRecord& record, const std::optional<dispute::SpotFinding>& finding) {
    const Bytes bytes = encode(record);
    const dispute::SpotRecord read = dispute::decode_spot_record(bytes, "record").value();
    EXPECT_TRUE(read.receipt == record.receipt && read.messages == record.messages);
    const dispute::Subject subject = dispute::subject_of(*read.receipt).value();
    const auto proved = dispute::prove(read, subject);
    EXPECT_EQ(proved.has_value(), finding.has_value());
    if (!finding || !proved) return;
    EXPECT_EQ(proved->finding.reason, finding->reason);
    EXPECT_EQ(proved->finding.node, finding->node);
    EXPECT_EQ(proved->finding.right, finding->right);
    EXPECT_FALSE(proved->transcript_root);
    // No bit of it can be another, and none of its messages missing.
    std::mt19937 random(1);
    for (int i = 0; i < 40; ++i) {
      Bytes changed = bytes;
      changed[random() % changed.size()] ^= static_cast<uint8_t>(1 << random() % 8);
      const auto other = dispute::decode_spot_record(changed, "record");
      if (!other || !other->receipt) continue;
      const auto of = dispute::subject_of(*other->receipt);
      EXPECT_FALSE(of && dispute::prove(*other, *of));
    }
    dispute::SpotRecord shorter = read;
    shorter.messages.pop_back();
    EXPECT_FALSE(dispute::prove(shorter, subject));
  }

  const fs::path folder_;
  InferenceRequest request_;
};

TEST_P(ReceiptGame, AnHonestReceiptPassesASpotCheck) {
  for (const bool trace : {false, true}) {
    const auto check = spot(side(1, trace), 60);
    EXPECT_FALSE(check->finding()) << check->finding()->reason;
    EXPECT_EQ(check->checked().size(), 60u);
    EXPECT_EQ(check->units(), 4u);
    std::set<std::string> seen;
    int64_t most = 1;
    for (const auto& c : check->checked()) {
      seen.insert(c.op);
      most = std::max(most, c.chunks);
    }
    EXPECT_EQ(seen, (std::set<std::string>{"Add", "MatMul", "Softmax", "Tanh"}));
    EXPECT_GT(most, 1);
  }
}

TEST_P(ReceiptGame, AFalseValueOfAnyOperatorIsFoundByASpotCheck) {
  for (uint64_t node = 0; node < 4; ++node) {
    FalseValue lie(node);
    const auto check = spot(side(1, node % 2 == 0, &lie), 400);
    ASSERT_TRUE(check->finding()) << node;
    EXPECT_EQ(check->finding()->level, Level::kElement);
    EXPECT_EQ(check->finding()->node, node);
    EXPECT_EQ(check->finding()->element, 0);
    EXPECT_NE(check->finding()->claimed, check->finding()->right);
  }
}

TEST_P(ReceiptGame, ValuesThatDoNotLeadToTheReceiptAreFalse) {
  FalseValue lie(1);
  ReceiptSide two_faced = side(1, false, &lie);
  two_faced.stage = nullptr;  // signs what is false, and then computes honestly
  const auto check = spot(two_faced, 5);
  ASSERT_TRUE(check->finding());
  EXPECT_EQ(check->finding()->level, Level::kTrace);
  EXPECT_TRUE(check->checked().empty());
  ReceiptSide hides = side(1, false);
  FalseValue hidden(0);
  hides.stage = &hidden;
  EXPECT_EQ(spot(hides, 5)->finding().value().level, Level::kTrace);
}

TEST_P(ReceiptGame, OnlyTheServersAnswersCount) {
  const ReceiptSide server = side(1, false);
  ReceiptSide stranger = server;
  stranger.key = key_of(2);
  EXPECT_EQ(ReceiptSpotSide::open(stranger).error().code, ErrorCode::kUsage);
  // Of another receipt of the same computation, by the same key.
  ReceiptSide other = server;
  other.receipt.challenge[0] ^= 1;
  other.receipt.sign(key_of(1));
  auto answers = ReceiptSpotSide::open(other).value();
  dispute::SpotCheck check(dispute::subject_of(server.receipt).value(), Bytes(16, 1), 3);
  EXPECT_FALSE(answers->answer(check.question())) << "a question about another receipt";
  const dispute::SpotCheck of_other(dispute::subject_of(other.receipt).value(), Bytes(16, 1), 3);
  const auto answer = answers->answer(of_other.question());
  ASSERT_TRUE(answer);
  EXPECT_FALSE(check.receive(*answer).counts);
  EXPECT_FALSE(check.done());
}

TEST_P(ReceiptGame, AFalseValueOfAnyOperatorIsConvictedInADispute) {
  for (uint64_t node = 0; node < 4; ++node) {
    for (const bool trace : {false, true}) {
      FalseValue lie(node);
      const run::DisputeResult result = settled(side(1, trace, &lie), side(2, false));
      EXPECT_EQ(result.verdict.outcome, Outcome::kTrainerWrong) << result.verdict.reason;
      EXPECT_EQ(result.verdict.level, Level::kElement);
      EXPECT_EQ(result.verdict.node, node);
      ASSERT_TRUE(result.verdict.element);
      EXPECT_EQ(result.verdict.element->element, 0);
      EXPECT_EQ(result.verdict.element->right, result.verdict.element->challenger);
      EXPECT_FALSE(result.verdict.step);
    }
  }
}

TEST_P(ReceiptGame, AFalseChallengeFails) {
  for (uint64_t node = 0; node < 4; ++node) {
    FalseValue lie(node);
    const run::DisputeResult result = settled(side(1, true), side(2, false, &lie));
    EXPECT_EQ(result.verdict.outcome, Outcome::kChallengerWrong) << result.verdict.reason;
    EXPECT_EQ(result.verdict.node, node);
  }
  // Claims other outputs, and then has the same values.
  FalseValue lie(2);
  ReceiptSide bluffs = side(2, false, &lie);
  bluffs.stage = nullptr;
  const run::DisputeResult result = settled(side(1, false), bluffs);
  EXPECT_EQ(result.verdict.outcome, Outcome::kChallengerWrong);
  EXPECT_EQ(result.verdict.level, Level::kTrace);
}

TEST_P(ReceiptGame, WhoDoesNotAnswerForItsReceiptIsWrong) {
  FalseValue lie(1);
  ReceiptSide two_faced = side(1, false, &lie);
  two_faced.stage = nullptr;
  const run::DisputeResult result = settled(two_faced, side(2, false));
  EXPECT_EQ(result.verdict.outcome, Outcome::kTrainerWrong);
  EXPECT_EQ(result.verdict.level, Level::kTrace);
}

TEST_P(ReceiptGame, WhatIsNoDisputeIsSaid) {
  const ReceiptSide server = side(1, false);
  EXPECT_EQ(dispute_receipts({server, side(2, false), nullptr, nullptr}).error().code, ErrorCode::kUsage);
  FalseValue lie(0);
  ReceiptSide other_input = side(2, false, &lie);
  other_input.receipt.of.inputs[0].root[0] ^= 1;
  other_input.receipt.sign(key_of(2));
  const auto no_dispute = dispute_receipts({server, other_input, nullptr, nullptr});
  EXPECT_EQ(no_dispute.error().code, ErrorCode::kUsage);
  EXPECT_NE(no_dispute.error().message.find("input"), std::string::npos);
}

// Of a receipt that somebody made up the schema may say anything.
TEST_P(ReceiptGame, AnEntryThatIsNoneOfItsNodeIsRefused) {
  const ReceiptSide server = side(1, false);
  const dispute::Subject subject = dispute::subject_of(server.receipt).value();
  const auto witness = InferenceWitness::open(request_, server.platform).value();
  const std::vector<train::TraceEntry> schema = witness->schema();
  const std::vector<commit::Digest> roots(schema.size());
  const auto opened = [&](const std::vector<train::TraceEntry>& said, uint64_t node, uint64_t entry, int64_t element) {
    auto resolved =
        dispute::resolve(witness->node(node), node, dispute::GraphParts::of(dispute::parts_of(subject)), schema)
            .value();
    const auto made = dispute::Element::open(subject, std::move(resolved), said, roots, entry, element, {});
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(opened(schema, 0, 1, 5), "");
  EXPECT_NE(opened(schema, 0, 1, 6), "");
  EXPECT_NE(opened(schema, 0, 1, -1), "");
  for (uint64_t entry = 1; entry < schema.size(); ++entry) {
    const auto node = static_cast<uint64_t>(schema[entry].node);
    EXPECT_EQ(opened(schema, node, entry, 0), "");
    std::vector<std::vector<train::TraceEntry>> lies(5, schema);
    lies[0][entry].place = 7;
    lies[1][entry].place = -1;
    lies[2][entry].dims = {1 << 20};
    lies[3][entry].dtype = DType::kInt64;
    lies[4][entry].kind = train::TraceEntry::Kind::kRate;
    for (const auto& lie : lies) EXPECT_NE(opened(lie, node, entry, 0), "") << schema[entry].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Arithmetics, ReceiptGame, ::testing::Values("ordered-1", "correct-1"),
                         [](const auto& with) { return std::string(with.param[0] == 'o' ? "ordered" : "correct"); });

}  // namespace
}  // namespace isobit::lab
