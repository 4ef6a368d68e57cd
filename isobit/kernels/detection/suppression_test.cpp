#include "isobit/kernels/detection/suppression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using Selected = std::vector<std::vector<int64_t>>;

template <class T>
Selected select(const SuppressionShape& shape, const std::vector<T>& boxes, const std::vector<T>& scores, T iou,
                std::optional<T> score = std::nullopt) {
  ThreadPool pool(2);
  Selected found;
  for (const SelectedBox& b :
       non_max_suppression<T>({best_isa(), &pool}, shape, boxes.data(), scores.data(), iou, score)) {
    found.push_back({b.image, b.class_index, b.box});
  }
  return found;
}

// Three pairs of boxes: the second of each lies 0.1 beside the first, or is the first.
const std::vector<float> kBoxes = {0, 0,  1, 1,  0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,
                                   0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101};
const std::vector<float> kScores = {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f};

TEST(NonMaxSuppression, LeavesTheBestOfThoseThatOverlap) {
  const SuppressionShape shape{.images = 1, .classes = 1, .boxes = 6, .most = 3};
  EXPECT_EQ(select(shape, kBoxes, kScores, 0.5f), (Selected{{0, 0, 3}, {0, 0, 0}, {0, 0, 5}}));
  EXPECT_EQ(select(shape, kBoxes, kScores, 0.5f, std::optional(0.4f)), (Selected{{0, 0, 3}, {0, 0, 0}}));
  EXPECT_EQ(select(shape, kBoxes, kScores, 0.95f), (Selected{{0, 0, 3}, {0, 0, 0}, {0, 0, 1}})) << "none overlaps";
}

TEST(NonMaxSuppression, SelectsAsManyAsAreAskedFor) {
  for (int64_t most : {-1, 0, 1, 2, 9}) {
    const SuppressionShape shape{.images = 1, .classes = 1, .boxes = 6, .most = most};
    EXPECT_EQ(select(shape, kBoxes, kScores, 0.5f).size(), static_cast<size_t>(std::clamp<int64_t>(most, 0, 3)));
  }
}

TEST(NonMaxSuppression, CornersMayBeGivenInAnyOrderOrAsACentre) {
  std::vector<float> flipped = kBoxes, centres;
  for (size_t b = 0; b < 6; ++b) {
    const float *box = kBoxes.data() + b * 4, y1 = box[0], x1 = box[1], y2 = box[2], x2 = box[3];
    if (b % 2 == 0) std::swap(flipped[b * 4], flipped[b * 4 + 2]);
    if (b % 3 == 0) std::swap(flipped[b * 4 + 1], flipped[b * 4 + 3]);
    for (float x : {(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1}) centres.push_back(x);
  }
  SuppressionShape shape{.images = 1, .classes = 1, .boxes = 6, .most = 3};
  EXPECT_EQ(select(shape, flipped, kScores, 0.5f), select(shape, kBoxes, kScores, 0.5f));
  shape.center_point = true;
  EXPECT_EQ(select(shape, centres, kScores, 0.5f), (Selected{{0, 0, 3}, {0, 0, 0}, {0, 0, 5}}));
}

TEST(NonMaxSuppression, ImagesAndClassesAreApart) {
  std::vector<float> boxes = kBoxes, scores;
  boxes.insert(boxes.end(), kBoxes.begin(), kBoxes.end());
  for (int i = 0; i < 4; ++i) scores.insert(scores.end(), kScores.begin(), kScores.end());
  scores[6] = 1;  // class 1 of image 0: its first box is the best
  const SuppressionShape shape{.images = 2, .classes = 2, .boxes = 6, .most = 2};
  EXPECT_EQ(select(shape, boxes, scores, 0.5f),
            (Selected{{0, 0, 3}, {0, 0, 0}, {0, 1, 0}, {0, 1, 3}, {1, 0, 3}, {1, 0, 0}, {1, 1, 3}, {1, 1, 0}}));
}

TEST(NonMaxSuppression, VeryManyClassesAreInOrder) {
  constexpr int64_t kClasses = 1000;
  const std::vector<float> boxes = {0, 0, 1, 1};
  const std::vector<float> scores(static_cast<size_t>(kClasses), 1);
  const SuppressionShape shape{.images = 1, .classes = kClasses, .boxes = 1, .most = 1};
  const Selected found = select(shape, boxes, scores, 0.5f);
  ASSERT_EQ(found.size(), static_cast<size_t>(kClasses));
  for (int64_t c = 0; c < kClasses; ++c) EXPECT_EQ(found[static_cast<size_t>(c)], (std::vector<int64_t>{0, c, 0}));
}

TEST(NonMaxSuppression, EqualScoresGoByNumberAndWhatIsNoNumberIsLeftOut) {
  const std::vector<double> boxes = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6, 7};
  const SuppressionShape shape{.images = 1, .classes = 1, .boxes = 4, .most = 9};
  EXPECT_EQ(select<double>(shape, boxes, {0.5, std::nan(""), 0.5, 0.5}, 0.0),
            (Selected{{0, 0, 0}, {0, 0, 2}, {0, 0, 3}}))
      << "a box without an area overlaps nothing";
  std::vector<double> nowhere = boxes;
  nowhere[0] = std::nan("");
  EXPECT_EQ(select<double>(shape, nowhere, {1, 1, 1, 1}, 0.0).size(), 4U);
}

// The overlap itself, around the threshold: boxes of 1 x 1 moved by d have (1 - d) / (1 + d) in common.
TEST(NonMaxSuppression, AnOverlapAtTheThresholdIsAllowed) {
  const SuppressionShape shape{.images = 1, .classes = 1, .boxes = 2, .most = 2};
  const std::vector<double> boxes = {0, 0, 1, 1, 0, 0.5, 1, 1.5};
  const double overlap = 0.5 / 1.5;
  EXPECT_EQ(select<double>(shape, boxes, {2, 1}, overlap).size(), 2U);
  EXPECT_EQ(select<double>(shape, boxes, {2, 1}, std::nextafter(overlap, 0)).size(), 1U);
}

}  // namespace
}  // namespace isobit::kernels
