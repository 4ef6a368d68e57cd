// Causes that a test has planted, one operator at a time: each is named, and no other operator is blamed.
#include "isobit/kernels/vendor/vendor.h"
#include "isobit/lab/explain/planted_case_for_test.h"
#include "isobit/lab/explain/planted_models_for_test.h"

namespace isobit::lab::explain {
namespace {

using testing::Case;
using testing::Order;
using testing::Plant;
using testing::PlantedBackend;
using testing::PlantedCause;

// A model and what is planted in it, one after another.
struct Scene {
  std::string name;
  std::function<void(const fs::path&)> write;
  std::vector<Case> cases;
};

const Plant kPlainMean = testing::sums({.mean = true});

// Beside our own kernels.
std::vector<Case> everywhere(Kind kind, const std::vector<std::string>& values, const Plant& planted) {
  std::vector<Case> cases;
  for (const std::string& value : values) cases.push_back({kind, value, {}, planted});
  return cases;
}

std::vector<Case> convolution_cases() {
  std::vector<Case> cases;
  for (const char* algorithm : {"winograd2", "winograd4"}) {
    for (const char* value : {"conv1", "conv2"}) {
      cases.push_back({Kind::kConvolutionAlgorithm, value, {}, testing::convolution_by(algorithm), false, algorithm});
    }
  }
  return cases;
}

std::vector<Case> joined(std::vector<Case> a, const std::vector<Case>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Scene> scenes() {
  using enum Kind;
  const Plant off = testing::one_ulp_off(), flushing = testing::flushing_results();
  return {
      {"Convolutions", [](const fs::path& p) { testing::write_image_model(p, 4, 9, 3); },
       testing::product_cases({"conv1", "conv2", "scores"})},
      {"ConvolutionAlgorithms", [](const fs::path& p) { testing::write_image_model(p, 6, 14, 5); },
       convolution_cases()},
      {"ImageModel",
       [](const fs::path& p) { testing::write_image_model(p, 16, 11, 4); },
       {{kReciprocalDivision, "pooled", kPlainMean, testing::sums({.reciprocal = true, .mean = true})},
        {kSummationOrder, "pooled", kPlainMean, testing::sums({.order = Order::kLanes, .mean = true})},
        {kSummationOrder, "pooled", {}, kPlainMean},
        {kElementaryFunction, "tanh1", {}, off},
        {kReciprocalDivision, "y", {}, testing::soft_maxima({.reciprocal = true})},
        {kElementaryFunction, "y", {}, testing::soft_maxima({.other_exponentials = true}), false}}},
      {"Products", [](const fs::path& p) { testing::write_rows_model(p, 9, 37, 7); },
       // Our own kernels fuse, in the order of a plain loop.
       joined(testing::product_cases({"product1", "product2"}),
              everywhere(kFusedMultiplyAdd, {"product1", "product2"}, testing::plain_loop()))},
      {"RowsModel",
       [](const fs::path& p) { testing::write_rows_model(p, 9, 37, 6); },
       {{kReciprocalDivision, "sixths", {}, testing::by_reciprocal()},
        {kReciprocalDivision, "shares", {}, testing::soft_maxima({.reciprocal = true})},
        {kSummationOrder, "shares", {}, testing::soft_maxima({.in_order = true})},
        {kElementaryFunction, "gate", {}, off},
        {kElementaryFunction, "powers", {}, off},
        {kElementaryFunction, "logs", {}, off},
        {kReciprocalDivision, "y", kPlainMean, testing::sums({.reciprocal = true, .mean = true})},
        {kSummationOrder, "y", kPlainMean, testing::sums({.order = Order::kDescending, .mean = true})}}},
      {"Functions", testing::write_functions_model,
       joined(everywhere(kElementaryFunction, {"sine", "cosine", "error", "root", "power", "gelu", "soft"}, off),
              {{kSummationOrder, "y", {}, testing::plain_loop()}})},
      {"SubnormalProducts", testing::write_tiny_model,
       joined(everywhere(kFlushToZero, {"scaled", "rectified", "product"}, flushing),
              {{kFlushToZero, "product", testing::plain_loop(), testing::sums({.flushes = true})}})},
      {"SubnormalPowers", testing::write_least_powers_model,
       everywhere(kFlushToZero, {"powers", "halves", "y"}, flushing)},
  };
}

class PlantedCausesTest : public PlantedCause, public ::testing::WithParamInterface<Scene> {};

TEST_P(PlantedCausesTest, AreNamedAndNothingElseIsBlamed) {
  GetParam().write(model());
  for (const Case& c : GetParam().cases) expect_named(c);
}

INSTANTIATE_TEST_SUITE_P(Planted, PlantedCausesTest, ::testing::ValuesIn(scenes()),
                         [](const auto& scene) { return scene.param.name; });

TEST(PlantedCauses, AreOfEightKindsInFortyPlaces) {
  std::set<std::string> kinds, places;
  for (const Scene& scene : scenes()) {
    for (const Case& c : scene.cases) {
      kinds.insert(name_of(c.kind));
      places.insert(scene.name + " " + c.value + " " + name_of(c.kind) + " " + c.setting);
    }
  }
  EXPECT_GE(kinds.size(), 8u);
  EXPECT_GE(places.size(), 40u);
  std::cout << kinds.size() << " kinds, planted in " << places.size() << " places\n";
}

// Platforms by their names alone: the only product is the only place where they can differ.
TEST_F(PlantedCause, InTheInstructionSetOfALibrary) {
  for (const char* core : {"sse41", "avx2"}) {
    const auto probe = kernels::probe_vendor({"onednn", core});
    if (!probe && probe.error().code == ErrorCode::kUnavailable) GTEST_SKIP() << "skipped: " << probe.error().message;
    ASSERT_TRUE(probe) << probe.error().message;
  }
  for (const int64_t k : {33, 64, 96, 200}) {
    SCOPED_TRACE(k);
    testing::write_one_product_model(model(), 8, k, 24);
    begin();
    for (const char* name : {"onednn@sse41/1t", "onednn@avx2/1t"}) {
      record(name, platform::parse_platform(name).value(), backends::native());
    }
    look();
    ASSERT_EQ(causes_.replays.problem, "");
    EXPECT_EQ(introduced(), std::set<std::string>{"product"}) << said();
    ASSERT_EQ(causes_.trials.size(), 1u) << said();
    EXPECT_EQ(causes_.trials[0].change, Change::kCoreType);
    EXPECT_EQ(causes_.trials[0].from + " " + causes_.trials[0].to, "sse41 avx2");
    EXPECT_TRUE(causes_.trials[0].agrees);
    ASSERT_EQ(causes_.diagnoses.size(), 1u);
    EXPECT_EQ(causes_.diagnoses[0].diagnosis.kind, Kind::kFusedMultiplyAdd) << said();
  }
}

TEST_F(PlantedCause, NothingIsBlamedWhereNothingWasPlanted) {
  testing::write_image_model(model(), 6, 14, 3);
  begin();
  PlantedBackend innocent("conv1", [](auto& call, const auto& run) { return run(call); });
  record("ordered@portable/1t", platform::parse_platform("ordered@portable/1t").value(), backends::native());
  record_planted("another/1t", innocent);
  look();
  EXPECT_TRUE(introduced().empty());
  EXPECT_TRUE(causes_.diagnoses.empty());
  EXPECT_TRUE(explanation_.forks.empty());
}

// What nobody looks for is found where it is, and not called by the name of something else.
TEST_F(PlantedCause, WhatIsNotKnownHasNoName) {
  const Plant noise = testing::changed_results([](float x, int64_t e) { return e % 3 == 0 ? x * 1.001f : x; });
  testing::write_image_model(model(), 6, 14, 3);
  for (const char* value : {"conv2", "pooled", "scores", "y"}) {
    expect_named({Kind::kUnknown, value, {}, noise, false});
  }
}

}  // namespace
}  // namespace isobit::lab::explain
