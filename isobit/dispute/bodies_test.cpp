#include "isobit/dispute/bodies.h"

#include <gtest/gtest.h>

#include "isobit/base/frame.h"

namespace isobit::dispute {
namespace {

// docs/formats/dispute.md: one body is not taken for another.
TEST(Bodies, EachBeginsWithATagOfItsOwn) {
  const std::vector<std::pair<Body, std::string>> bodies = {
      {Challenge{}, "challenge"}, {StepList{}, "steps"},    {ValueList{}, "values"},     {TileTree{}, "tiles"},
      {PartRoots{}, "parts"},     {LeafShowing{}, "leaf"},  {NodeShowing{}, "node"},     {StateTree{}, "states"},
      {Grounds{}, "grounds"},     {LossShowing{}, "loss"},  {BatchShowing{}, "batch"},   {SampleShowing{}, "sample"},
      {LogShowing{}, "log"},      {Accusation{}, "entry"},  {OutputClaims{}, "outputs"}, {SumsShowing{}, "sums"},
      {GraphShowing{}, "graph"},  {ScoreShowing{}, "score"}};
  ASSERT_EQ(bodies.size(), std::variant_size_v<Body>);
  for (size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(bodies[i].first.index(), i);
    EXPECT_EQ(name_of_body(i), bodies[i].second);
    EXPECT_TRUE(has_tag(encode(bodies[i].first), "isobit.dispute." + bodies[i].second)) << bodies[i].second;
  }
}

}  // namespace
}  // namespace isobit::dispute
