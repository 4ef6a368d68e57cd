#include "isobit/lab/receipt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "isobit/onnx/model_for_test.h"

namespace isobit::lab {
namespace {

using onnx::ModelForTest;

commit::SecretKey key_of(uint8_t number) {
  commit::SecretKey::Seed seed{};
  seed.fill(number);
  return commit::SecretKey::from_seed(seed);
}

class Receipts : public ::testing::Test {
 protected:
  Receipts() : folder_(fs::temp_directory_path() / ("isobit_receipt_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    request_.model = folder_ / "m.onnx";
    linear(3).write(request_.model);
  }
  ~Receipts() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  // y = softmax(x w + b), x of [4, 3].
  static ModelForTest linear(float first) {
    ModelForTest model;
    model.input("x", {4, 3});
    model.initializer("w", onnx::floats({3, 2}, {first, 2, 3, 4, 5, 6}));
    model.initializer("b", onnx::floats({2}, {0.1f, 0.2f}));
    model.node("MatMul", {"x", "w"}, {"xw"});
    model.node("Add", {"xw", "b"}, {"s"});
    model.node("Softmax", {"s"}, {"y"});
    return model.output("y");
  }
  Receipted made(bool trace = true) const {
    platform::Engine engine(platform::parse_platform("ordered/2t").value());
    return infer_with_receipt(request_, {Bytes(16, 5), "test", trace}, key_of(1), engine).value();
  }
  static ReceiptAudit audited(const verify::InferenceReceipt& receipt, const InferenceRequest& request,
                              const char* platform = "ordered@portable/1t") {
    platform::Engine engine(platform::parse_platform(platform).value());
    return audit_receipt(receipt, request, engine).value();
  }

  const fs::path folder_;
  InferenceRequest request_;
};

TEST_F(Receipts, AnHonestOneIsRightOnEveryPlatform) {
  for (const char* arithmetic : {"ordered-1", "correct-1"}) {
    request_.arithmetic = arithmetic;
    for (const bool trace : {false, true}) {
      const verify::InferenceReceipt receipt = made(trace).receipt;
      EXPECT_EQ(receipt.trace.has_value(), trace);
      EXPECT_FALSE(check_receipt(receipt, {key_of(1).public_key(), Bytes(16, 5), arithmetic}));
      for (const char* platform : {"ordered@reference/1t", "ordered@portable/1t", "ordered/3t"}) {
        const ReceiptAudit audit = audited(receipt, request_, platform);
        EXPECT_FALSE(audit.finding) << audit.finding->reason;
        EXPECT_TRUE(audit.ran);
      }
    }
  }
}

TEST_F(Receipts, TheDigestsAreThoseOfTheTensors) {
  const Receipted done = made();
  ThreadPool pool(1);
  EXPECT_EQ(done.receipt.outputs[0].root,
            commit::tensor_root("y", done.inference.outputs[0].tensor, {}, pool).digest());
  EXPECT_EQ(done.receipt.of.inputs[0].root,
            commit::tensor_root("x", done.inference.inputs[0].tensor, {}, pool).digest());
}

TEST_F(Receipts, EveryLieIsFoundWhereItIs) {
  const verify::InferenceReceipt honest = made().receipt;
  const auto part_of = [&](const std::function<void(verify::InferenceReceipt&)>& lie) {
    verify::InferenceReceipt receipt = honest;
    lie(receipt);
    receipt.sign(key_of(1));
    return audited(receipt, request_).finding.value().part;
  };
  EXPECT_EQ(part_of([](auto& r) { r.of.files[0] ^= 1; }), ReceiptPart::kModel);
  EXPECT_EQ(part_of([](auto& r) { r.of.graph[0] ^= 1; }), ReceiptPart::kModel);
  EXPECT_EQ(part_of([](auto& r) { (*r.of.schema)[0] ^= 1; }), ReceiptPart::kModel);
  EXPECT_EQ(part_of([](auto& r) { r.of.outputs[0] = "z"; }), ReceiptPart::kModel);
  EXPECT_EQ(part_of([](auto& r) { r.of.inputs[0].root[0] ^= 1; }), ReceiptPart::kInput);
  EXPECT_EQ(part_of([](auto& r) { r.outputs[0].root[0] ^= 1; }), ReceiptPart::kOutput);
  EXPECT_EQ(part_of([](auto& r) { r.outputs[0].dims = {2, 4}; }), ReceiptPart::kOutput);
  EXPECT_EQ(part_of([](auto& r) { (*r.trace)[0] ^= 1; }), ReceiptPart::kTrace);
  // Inner products in order and rounded once differ in these numbers.
  EXPECT_EQ(part_of([](auto& r) { r.of.arithmetic = "correct-1"; }), ReceiptPart::kOutput);
}

TEST_F(Receipts, AnotherModelOrInputIsFound) {
  const verify::InferenceReceipt receipt = made().receipt;
  InferenceRequest other = request_;
  other.seed = 2;
  const ReceiptAudit of_input = audited(receipt, other);
  EXPECT_EQ(of_input.finding.value().part, ReceiptPart::kInput);
  EXPECT_FALSE(of_input.ran);
  linear(4).write(request_.model);
  EXPECT_EQ(audited(receipt, request_).finding.value().part, ReceiptPart::kModel);
}

TEST_F(Receipts, WhatIsWantedIsComparedBeforeTheModelIsRead) {
  const verify::InferenceReceipt receipt = made().receipt;
  EXPECT_EQ(check_receipt(receipt, {.server = key_of(2).public_key()}).value().part, ReceiptPart::kServer);
  EXPECT_EQ(check_receipt(receipt, {.challenge = Bytes(16, 6)}).value().part, ReceiptPart::kChallenge);
  EXPECT_EQ(check_receipt(receipt, {.arithmetic = "correct-1"}).value().part, ReceiptPart::kArithmetic);
  verify::InferenceReceipt forged = receipt;
  forged.challenge[0] ^= 1;
  EXPECT_EQ(check_receipt(forged, {}).value().part, ReceiptPart::kSignature);
  for (const char* arithmetic : {"float32", "logged-1", "ordered-9"}) {
    forged = receipt;
    forged.of.arithmetic = arithmetic;
    forged.sign(key_of(1));
    EXPECT_EQ(check_receipt(forged, {}).value().part, ReceiptPart::kArithmetic) << arithmetic;
  }
}

TEST_F(Receipts, OutputsThatWereGivenAreCompared) {
  const Receipted done = made();
  ThreadPool pool(1);
  const Tensor y = done.inference.outputs[0].tensor;
  EXPECT_FALSE(check_given_outputs(done.receipt, {{"y", y}}, pool));
  EXPECT_FALSE(check_given_outputs(done.receipt, {{"", y}}, pool));
  EXPECT_TRUE(check_given_outputs(done.receipt, {{"z", y}}, pool));
  EXPECT_TRUE(check_given_outputs(done.receipt, {{"", y}, {"", y}}, pool));
  Tensor other = y.clone();
  other.data<float>()[3] += 1;
  EXPECT_EQ(check_given_outputs(done.receipt, {{"y", other}}, pool).value().part, ReceiptPart::kOutput);
}

TEST_F(Receipts, ValuesThatFollowFromDataHaveAReceiptWithoutTrace) {
  ModelForTest model;
  model.input("x", {4});
  model.node("NonZero", {"x"}, {"y"});
  model.output("y").write(request_.model);
  const Receipted done = made(false);
  EXPECT_FALSE(done.receipt.of.schema);
  EXPECT_FALSE(audited(done.receipt, request_).finding);
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto traced = infer_with_receipt(request_, {Bytes(16, 5), "test", true}, key_of(1), engine);
  EXPECT_EQ(traced.error().code, ErrorCode::kUnreadable);
}

TEST_F(Receipts, AnArithmeticWithoutPromiseHasNone) {
  request_.arithmetic = "float32";
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  EXPECT_EQ(infer_with_receipt(request_, {Bytes(16, 5), "test", false}, key_of(1), engine).error().code,
            ErrorCode::kUsage);
}

}  // namespace
}  // namespace isobit::lab
