#include <gtest/gtest.h>

#include <cmath>

#include "isobit/data/batch.h"
#include "isobit/data/testing.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::npy;
using testing::open_error;
using testing::TemporaryFolder;

class Targets : public ::testing::Test {
 protected:
  Targets() {
    folder_.write("inputs.npy", npy<float>("<f4", "(3, 1)", {1, 2, 3}));
    config_.dataset = "npy";
    config_.path = folder_.path();
  }
  // Of the three samples in their order, as the model is fed.
  template <class Fed, class T>
  std::vector<Fed> fed(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
    folder_.write("labels.npy", npy<T>(descr, shape, values));
    auto dataset = open_dataset(config_);
    EXPECT_TRUE(dataset) << dataset.error().message;
    if (!dataset) return {};
    dataset_ = std::move(*dataset);
    std::vector<Fed> all;
    const auto size = static_cast<size_t>(Shape(target().shape).elements());
    float input = 0;
    void* const to[] = {&input};
    for (int64_t i = 0; i < 3; ++i) {
      all.resize(all.size() + size);
      EXPECT_TRUE(dataset_->fill(Split::kTrain, i, {}, to, all.data() + all.size() - size));
    }
    return all;
  }
  template <class T>
  std::string error(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
    folder_.write("labels.npy", npy<T>(descr, shape, values));
    const std::string message = open_error(config_);
    EXPECT_TRUE(contains(message, "labels.npy"));
    return message;
  }
  const Target& target() const { return dataset_->target(); }

  TemporaryFolder folder_;
  DataConfig config_;
  std::unique_ptr<Dataset> dataset_;
};

using Labels = std::vector<int64_t>;
using Floats = std::vector<float>;

TEST_F(Targets, WholeNumbersInAVectorAreClasses) {
  EXPECT_EQ((fed<int64_t, int64_t>("<i8", "(3,)", {0, 4, 1})), (Labels{0, 4, 1}));
  EXPECT_EQ(target(), (Target{TargetKind::kClass, DType::kInt64, {}, 5}));
  EXPECT_EQ((fed<int64_t, int8_t>("|i1", "(3,)", {0, 4, 1})), (Labels{0, 4, 1}));
  EXPECT_EQ((fed<int64_t, uint16_t>("<u2", "(3,)", {0, 999, 1})), (Labels{0, 999, 1}));
  EXPECT_EQ((fed<int64_t, uint64_t>("<u8", "(3,)", {7, 4, 1})), (Labels{7, 4, 1}));
  EXPECT_EQ((fed<int64_t, uint8_t>("|b1", "(3,)", {0, 0, 0})), (Labels{0, 0, 0}));
  EXPECT_EQ(target().classes, 2) << "of booleans, whichever there are";
  EXPECT_TRUE(contains(error<uint64_t>("<u8", "(3,)", {1, UINT64_MAX, 0}), "sample 1: found 18446744073709551615"));
  EXPECT_TRUE(contains(error<int8_t>("|i1", "(3,)", {1, 0, -1}), "sample 2: found -1"));
  EXPECT_TRUE(contains(error<int32_t>("<i4", "(3,)", {1, 1000000, 0}), "found 1000000, expected 0 to 999999"));
}

TEST_F(Targets, TheJobMaySayHowManyClassesThereAre) {
  config_.classes = 10;
  EXPECT_EQ((fed<int64_t, int64_t>("<i8", "(3,)", {0, 4, 1})), (Labels{0, 4, 1}));
  EXPECT_EQ(target().classes, 10);
  EXPECT_TRUE(contains(error<int64_t>("<i8", "(3,)", {0, 10, 1}), "sample 1: found 10, expected 0 to 9"));
  folder_.write("labels.npy", npy<float>("<f4", "(3,)", {1, 2, 3}));
  EXPECT_TRUE(contains(open_error(config_), "data.classes: found 10, expected none for targets of kind regression"));
  config_.target = TargetRule::kNone;
  EXPECT_TRUE(contains(open_error(config_), "data.classes"));
}

TEST_F(Targets, WholeNumbersInRowsAreClassesOfTokens) {
  EXPECT_EQ((fed<int64_t, int32_t>("<i4", "(3, 2)", {0, 1, 2, 3, 4, 5})), (Labels{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(target(), (Target{TargetKind::kClassPerToken, DType::kInt64, {2}, 6}));
  EXPECT_EQ((fed<int64_t, uint8_t>("|u1", "(3, 1, 2)", {0, 1, 2, 3, 4, 0})), (Labels{0, 1, 2, 3, 4, 0}));
  EXPECT_EQ(target().shape, (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(contains(error<int32_t>("<i4", "(3, 2)", {0, 1, 2, 3, 4, -5}), "label of sample 2: found -5"));
}

// [n, 1] may mean either.
TEST_F(Targets, OneColumnIsWhatTheJobSays) {
  EXPECT_TRUE(contains(error<int64_t>("<i8", "(3, 1)", {0, 4, 1}), "set data.target"));
  config_.target = TargetRule::kClass;
  EXPECT_EQ((fed<int64_t, int64_t>("<i8", "(3, 1)", {0, 4, 1})), (Labels{0, 4, 1}));
  EXPECT_EQ(target(), (Target{TargetKind::kClass, DType::kInt64, {}, 5}));
  config_.target = TargetRule::kClassPerToken;
  EXPECT_EQ((fed<int64_t, int64_t>("<i8", "(3, 1)", {0, 4, 1})), (Labels{0, 4, 1}));
  EXPECT_EQ(target(), (Target{TargetKind::kClassPerToken, DType::kInt64, {1}, 5}));
}

TEST_F(Targets, RowsOfBooleansAreSeveralLabels) {
  EXPECT_EQ((fed<float, uint8_t>("|b1", "(3, 2)", {0, 1, 1, 1, 0, 0})), (Floats{0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(target(), (Target{TargetKind::kMultiLabel, DType::kFloat32, {2}, 2}));
  config_.target = TargetRule::kMultiLabel;
  EXPECT_EQ((fed<float, uint8_t>("|u1", "(3, 2)", {0, 1, 1, 1, 0, 0})), (Floats{0, 1, 1, 1, 0, 0}));
  const Floats fed_floats = fed<float, double>("<f8", "(3, 1)", {-0.0, 1, 0});
  EXPECT_EQ(fed_floats, (Floats{0, 1, 0}));
  EXPECT_FALSE(std::signbit(fed_floats[0]));
  EXPECT_TRUE(contains(error<uint8_t>("|u1", "(3, 2)", {0, 1, 1, 2, 0, 0}), "sample 1: found 2, expected 0 or 1"));
  EXPECT_TRUE(contains(error<double>("<f8", "(3, 1)", {0, 1, 1e-300}), "sample 2: found 1e-300, expected 0 or 1"));
}

TEST_F(Targets, NumbersAreRoundedToTheNearestFloat32) {
  EXPECT_EQ((fed<float, double>("<f8", "(3,)", {0.1, -2, 1e-60})), (Floats{0.1f, -2, 0}));
  EXPECT_EQ(target(), (Target{TargetKind::kRegression, DType::kFloat32, {}, 0}));
  EXPECT_EQ((fed<float, float>("<f4", "(3, 2)", {1, 2, 3, 4, 5, 6})), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(target().shape, std::vector<int64_t>{2});
  EXPECT_EQ((fed<float, uint16_t>("<f2", "(3,)", {0x3c00, 0xc000, 1})), (Floats{1, -2, 0x1p-24f}));
  EXPECT_TRUE(contains(error<double>("<f8", "(3,)", {0, 1e300, 0}), "sample 1: found 1e+300, expected a finite"));
  EXPECT_TRUE(contains(error<float>("<f4", "(3,)", {0, 0, NAN}), "sample 2: found nan"));
  config_.target = TargetRule::kRegression;
  EXPECT_EQ((fed<float, int64_t>("<i8", "(3,)", {7, -8, (int64_t{1} << 24) + 1})), (Floats{7, -8, 0x1p24f}));
  EXPECT_TRUE(contains(error<uint8_t>("|b1", "(3,)", {0, 1, 0}), "of type bool"));
}

TEST_F(Targets, OfAnotherKindThanTheJobSays) {
  config_.target = TargetRule::kClass;
  EXPECT_TRUE(contains(error<float>("<f4", "(3,)", {0, 1, 2}), "found targets of type float32 and shape [3]"));
  EXPECT_TRUE(contains(error<int64_t>("<i8", "(3, 2)", {0, 1, 2, 3, 4, 5}), "expected whole numbers [samples]"));
  config_.target = TargetRule::kClassPerToken;
  EXPECT_TRUE(contains(error<int64_t>("<i8", "(3,)", {0, 1, 2}), "expected whole numbers [samples, tokens]"));
}

TEST_F(Targets, NoneAreNotLookedFor) {
  config_.target = TargetRule::kNone;
  EXPECT_TRUE(open_dataset(config_));
  folder_.write("labels.npy", as_bytes("no array"));
  EXPECT_TRUE(open_dataset(config_));
  config_.path = folder_.path("inputs.npy");
  EXPECT_TRUE(open_dataset(config_));
  config_.labels_path = folder_.path("labels.npy");
  EXPECT_TRUE(contains(open_error(config_), "data.labels_path"));
}

TEST_F(Targets, OfTheTestAreOfTheSameKind) {
  folder_.write("labels.npy", npy<int64_t>("<i8", "(3, 2)", {0, 1, 2, 3, 4, 5}));
  folder_.write("test_inputs.npy", npy<float>("<f4", "(1, 1)", {1}));
  folder_.write("test_labels.npy", npy<int64_t>("<i8", "(1, 3)", {0, 1, 2}));
  EXPECT_TRUE(contains(open_error(config_), "test_labels.npy: found targets of shape [1, 3]"));
  folder_.write("test_labels.npy", npy<float>("<f4", "(1, 2)", {0, 1}));
  EXPECT_TRUE(contains(open_error(config_), "test_labels.npy: found targets of type float32"));
  folder_.write("test_labels.npy", npy<uint8_t>("|u1", "(1, 2)", {0, 9}));
  const auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->target().classes, 10);
}

TEST_F(Targets, RulesAreNamedLikeTheKinds) {
  ASSERT_EQ(target_rule_names().size(), target_kind_names().size() + 1);
  EXPECT_FALSE(kind_of(TargetRule::kByType));
  EXPECT_EQ(kind_of(TargetRule::kNone), TargetKind::kNone);
  EXPECT_EQ(kind_of(TargetRule::kRegression), TargetKind::kRegression);
  for (size_t i = 0; i < target_kind_names().size(); ++i) {
    EXPECT_EQ(target_rule_names()[i + 1], target_kind_names()[i]);
    EXPECT_EQ(kind_of(static_cast<TargetRule>(i + 1)), static_cast<TargetKind>(i));
  }
}

}  // namespace
}  // namespace isobit::data
