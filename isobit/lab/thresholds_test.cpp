// What platforms differ by, measured; and the comparison itself on figures made by hand.
#include "isobit/lab/thresholds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/vendor/vendor.h"
#include "isobit/run/testing.h"

namespace isobit::lab {
namespace {

using run::testing::small_job;

ThresholdsRequest request_for(const std::vector<std::string>& platforms) {
  ThresholdsRequest request;
  request.job = small_job();
  for (const std::string& p : platforms) request.platforms.push_back(platform::parse_platform(p).value());
  request.steps = 2;
  request.samples = 40;
  return request;
}

TEST(Thresholds, OrderedPlatformsDifferByExactlyNothing) {
  const std::string best = platform::parse_platform("ordered/1t")->text();
  std::vector<std::string> names = {"ordered@portable/2t", "ordered@reference/1t"};
  if (best != "ordered@portable/1t") names.push_back(best);
  const auto report = measure_thresholds(request_for(names));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->operators.size(), 5u);
  EXPECT_EQ(report->left_out, 0u);
  const char* ops[] = {"Conv", "ConvGradSrc", "ConvGradWeights", "Gemm", "MatMul"};
  for (size_t n = 0; n < 5; ++n) {
    const OperatorFigures& f = report->operators[n];
    EXPECT_EQ(f.op, ops[n]);
    EXPECT_GT(f.samples, 0u);
    EXPECT_GE(f.outputs, f.samples);
    EXPECT_EQ(f.divergence, 0.0);
    EXPECT_EQ(f.straddles, 0u);
    EXPECT_EQ(f.threshold, 0.25);
    EXPECT_EQ(f.proposed_divergence, 0.0);
    EXPECT_EQ(f.proposed_threshold, 0.0);
    for (const PairFigures& p : f.pairs) EXPECT_EQ(p.samples, f.samples);
    for (double error : f.errors) {
      EXPECT_GT(error, 0.0);
      EXPECT_LT(error, f.most_bound / 2);
      EXPECT_EQ(error, f.errors[0]);
    }
  }
  EXPECT_FALSE(report->beyond_job());
  EXPECT_EQ(rounding_fragment(*report, {"nothing"}), "# nothing\n[rounding]\n");
}

TEST(Thresholds, LibrariesDifferWithinTheSoundBound) {
  std::vector<std::string> names = {"ordered@portable/1t"};
  if (kernels::vendor_installed("openblas")) names.push_back("openblas/1t");
  if (kernels::vendor_installed("eigen")) names.push_back("eigen@sse2/1t");
  if (names.size() == 1) GTEST_SKIP() << "skipped: no vendor library";
  const auto report = measure_thresholds(request_for(names));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->left_out, 0u);
  EXPECT_FALSE(report->beyond_bound());
  double largest = 0;
  for (const OperatorFigures& f : report->operators) {
    EXPECT_LT(f.bound_share, 1.0) << f.op;
    EXPECT_LT(f.divergence, f.most_bound) << f.op;
    EXPECT_EQ(f.proposed_divergence > 0, f.divergence > 0) << f.op;
    EXPECT_GE(f.proposed_divergence, 4 * f.divergence) << f.op;
    largest = std::max(largest, f.divergence);
  }
  EXPECT_GT(largest, 0.0);

  // The same measured again, against a job that allows next to nothing.
  ThresholdsRequest strict = request_for(names);
  strict.job = small_job({"job.arithmetic=logged-1", "rounding.divergence=1e-6"});
  const auto again = measure_thresholds(strict);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->beyond_job());
  EXPECT_FALSE(again->beyond_bound());
}

// Records by hand: one product of `k` terms with the results of two platforms.
class ByHand : public ::testing::Test {
 protected:
  static CalibrationRecord record(std::vector<double> values, double magnitude, double exact) {
    CalibrationRecord r;
    r.pass = 1;
    r.node = 1;
    r.k = 10;
    r.outputs = 100;
    r.operands = 5;
    for (size_t i = 0; i < values.size(); ++i) {
      r.samples.push_back({i, values[i], magnitude, {exact, 0}});
      r.ties.push_back({i, values[i]});
    }
    return r;
  }
  ThresholdsReport compare(const CalibrationRecord& a, const CalibrationRecord& b) const {
    ThresholdsRequest request = request_for({"ordered@portable/1t", "ordered@portable/2t"});
    return compare_records(request, {{a}, {b}}, {"Relu", "isobit.ConvGradSrc"});
  }
};

TEST_F(ByHand, DivergenceIsInUnitsOfTheMagnitude) {
  const auto report = compare(record({1.0, 2.0}, 8.0, 1.0), record({1.0 + 0x1p-52, 2.0}, 8.0, 1.0));
  ASSERT_EQ(report.operators.size(), 1u);
  const OperatorFigures& f = report.operators[0];
  EXPECT_EQ(f.op, "ConvGradSrc");
  EXPECT_EQ(f.divergence, 0.25);  // 2^-52 of 8 x 2^-53
  EXPECT_EQ(f.least_k, 10);
  EXPECT_EQ(f.pairs[0].samples, 2u);
  EXPECT_NEAR(f.bound_share, 0.25 / 24, 1e-9);
  EXPECT_EQ(f.straddles, 0u);
  EXPECT_EQ(f.beyond_bound, 2u);  // the 2.0 of each, far from its exact value
}

TEST_F(ByHand, AStraddleGivesTwoDistances) {
  const double boundary = 1 + 0x1p-24;  // of float32: halfway from 1 to the next
  const double below = boundary - 0x1p-40, above = boundary + 0x1p-45;
  const auto report = compare(record({below}, 1.0, boundary), record({above}, 1.0, boundary));
  const OperatorFigures& f = report.operators[0];
  EXPECT_EQ(f.straddles, 1u);
  EXPECT_EQ(f.least_distance, 0.5 - 0x1p-17);  // in units of 2^-23
  EXPECT_LT(f.threshold, f.least_distance);
  EXPECT_NEAR(f.threshold, f.least_distance, 1e-9);
  EXPECT_NEAR(f.proposed_threshold, 0.5 - 4 * 0x1p-17, 1e-8);
  EXPECT_TRUE(report.beyond_job());
  EXPECT_TRUE(report.beyond_bound());  // 2^13 units; 24 are possible
}

TEST_F(ByHand, WhatHadOtherOperandsIsLeftOut) {
  CalibrationRecord a = record({1.0}, 1.0, 1.0), b = record({1.5}, 1.0, 1.5);
  b.operands = 6;
  const auto report = compare(a, b);
  EXPECT_EQ(report.left_out, 1u);
  EXPECT_EQ(report.operators[0].divergence, 0.0);
  EXPECT_EQ(report.operators[0].pairs[0].samples, 0u);
  EXPECT_FALSE(report.beyond_bound());
}

TEST_F(ByHand, OneProductIsNotComparedWithAnother) {
  const CalibrationRecord a = record({1.0}, 1.0, 1.0);
  CalibrationRecord of_next_pass = a, of_other_node = a, of_more_terms = a;
  of_next_pass.pass = 2;
  of_other_node.node = 0;
  of_more_terms.k = 11;
  for (const CalibrationRecord& b : {of_next_pass, of_other_node, of_more_terms}) {
    EXPECT_DEATH(compare(a, b), "of_one_product");
  }
}

TEST_F(ByHand, ResultsThatAreNoNumbersAreBeyondEveryBound) {
  const auto report = compare(record({std::nan("")}, 1.0, 1.0), record({1.0}, 1.0, 1.0));
  EXPECT_TRUE(report.beyond_bound());
  EXPECT_EQ(report.operators[0].proposed_divergence, 0.0);
}

TEST(Thresholds, TheLargestThresholdThatLogsADistance) {
  for (double distance : {0.4999999, 0.49, 0.3, 0.2500001}) {
    const double threshold = largest_threshold(distance, 32);
    EXPECT_GT(distance, threshold);
    EXPECT_LE(distance - threshold, 0x1p-31);
  }
  EXPECT_EQ(largest_threshold(0.25, 32), 0.25);
  EXPECT_EQ(largest_threshold(0.1, 32), 0.25);
  // With fewer bits the spacing is wider and the search begins nearer to the value.
  EXPECT_EQ(least_threshold(27), 0.25 / 32);
  EXPECT_NEAR(largest_threshold(0.1, 27), 0.1, 0x1p-31);
  EXPECT_EQ(largest_threshold(0.005, 27), 0.25 / 32);
}

TEST(Thresholds, TheFragmentIsWhatAJobReads) {
  ThresholdsReport report;
  report.operators.resize(3);
  report.operators[0].op = "Conv";
  report.operators[0].proposed_divergence = 3.25;
  report.operators[0].proposed_threshold = 0.4375;
  report.operators[1].op = "Gemm";
  report.operators[1].proposed_divergence = 8;
  report.operators[2].op = "MatMul";
  const std::string fragment = rounding_fragment(report, {"a table", "", "of figures"});
  EXPECT_TRUE(fragment.starts_with("# a table\n#\n# of figures\n[rounding]\n")) << fragment;
  const auto job = train::parse_job(train::job_to_toml(small_job()) + fragment, "job", "", {"job.arithmetic=logged-1"});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->rounding.divergences, (std::map<std::string, double>{{"Conv", 3.25}, {"Gemm", 8.0}}));
  EXPECT_EQ(job->rounding.thresholds, (std::map<std::string, double>{{"Conv", 0.4375}}));
}

TEST(Thresholds, RequestsOutsideTheirLimits) {
  const auto fails = [](ThresholdsRequest request, ErrorCode code, const std::string& says) {
    const auto report = measure_thresholds(request);
    ASSERT_FALSE(report) << says;
    EXPECT_EQ(report.error().code, code);
    EXPECT_NE(report.error().message.find(says), std::string::npos) << report.error().message;
  };
  const auto good = [] { return request_for({"ordered@portable/1t", "ordered@portable/2t"}); };
  ThresholdsRequest request = request_for({"ordered/1t"});
  fails(request, ErrorCode::kUsage, "one platform");
  fails(request_for({"ordered/1t", "ordered/2t", "ordered/1t"}), ErrorCode::kUsage, "named twice");
  request = good();
  request.steps = 13;
  fails(request, ErrorCode::kUsage, "the 12 steps");
  request = good();
  request.samples = 0;
  fails(request, ErrorCode::kUsage, "--samples 0");
  request = good();
  request.margin = 0.5;
  fails(request, ErrorCode::kUsage, "--margin 0.5");
  request = good();
  request.job.data.dataset = "mnist";
  request.job.data.path = "no-such-folder";
  fails(request, ErrorCode::kUnreadable, "no-such-folder");
  if (kernels::vendor_installed("openblas")) {
    fails(request_for({"ordered/1t", "openblas@no-such-core/1t"}), ErrorCode::kUnavailable, "no-such-core");
  }
}

}  // namespace
}  // namespace isobit::lab
