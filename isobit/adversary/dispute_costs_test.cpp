// What a dispute costs its referee: rounds and bytes, as the interval, the network, the tensors and the sums grow.
#include <gtest/gtest.h>

#include <bit>

#include "isobit/adversary/simulator/world_for_test.h"
#include "isobit/dispute/shown_tensor.h"

namespace isobit::adversary::simulator {
namespace {

// The first value that a node of this operator makes.
uint64_t entry_of(Material& material, const std::string& op) {
  const auto& schema = material.honest().schema();
  for (uint64_t i = 0; i < schema.size(); ++i) {
    if (schema[i].kind != train::TraceEntry::Kind::kOutput) continue;
    if (material.honest().graph().nodes()[static_cast<size_t>(schema[i].node)].op == op) return i;
  }
  return schema.size();
}

struct Cost {
  uint64_t turns = 0, bytes = 0, list_bytes = 0, tiles = 0, entries = 0;
};

// Of a lie about the last element of that value, at the second step.
Cost cost_of(Material& material, const std::string& op) {
  const uint64_t entry = entry_of(material, op);
  const auto identity = dispute::TensorIdentity::of(material.honest().schema().at(entry));
  const Lie lie = lie_about(material, 2, entry, identity.shape().elements() - 1);
  const Settled settled = settle(material, {lie, Lie{}});
  EXPECT_EQ(settled.verdict.outcome, dispute::Outcome::kTrainerWrong) << settled.verdict.reason;
  EXPECT_EQ(settled.verdict.op, op);
  const auto& counts = settled.counts;
  EXPECT_LT(counts.bytes - counts.list_bytes, uint64_t{1} << 20);
  return {settled.turns, counts.bytes - counts.list_bytes, counts.list_bytes,
          static_cast<uint64_t>(identity.grid().tiles()), material.honest().schema().size()};
}

// Turns in which parts of a tree are shown: seven levels at a time, and none of a tree that is a leaf.
uint64_t descents(uint64_t leaves) {
  const auto levels = static_cast<uint64_t>(std::bit_width(leaves - 1));
  return (levels + dispute::kLevels - 1) / dispute::kLevels;
}
constexpr uint64_t kOfParts = 2 * (300 + 32 * (1 << dispute::kLevels));  // bytes of both parties

TEST(DisputeCosts, AnIntervalOfTwiceAsManySteps) {
  Material four({"commit.every=4", "job.steps=8"}), eight({"commit.every=8", "job.steps=8"});
  const Cost a = cost_of(four, "Conv"), b = cost_of(eight, "Conv");
  EXPECT_EQ(a.turns, b.turns);
  EXPECT_LT(b.bytes, a.bytes + 1000);
  // Four more steps in two lists, each of a batch, a loss and a state.
  EXPECT_GE(b.list_bytes, a.list_bytes + 2 * 4 * 64);
  EXPECT_LT(b.list_bytes, a.list_bytes + 2 * 4 * 200);
}

TEST(DisputeCosts, TensorsOf128TimesAsManyElements) {
  Material small({"data.batch=2"}), large({"data.batch=256"});
  const Cost a = cost_of(small, "Conv"), b = cost_of(large, "Conv");
  EXPECT_EQ(b.tiles, 128 * a.tiles);
  // Challenge, steps, values, tiles, leaf, node, grounds, and the descent.
  EXPECT_EQ(a.turns, 7 + descents(a.tiles));
  EXPECT_EQ(b.turns, 7 + descents(b.tiles));
  EXPECT_LE(b.turns, a.turns + 1);
  EXPECT_LT(b.bytes, a.bytes + kOfParts + 4096);  // proofs are longer by seven digests
  EXPECT_LT(b.list_bytes, a.list_bytes + 64);
}

TEST(DisputeCosts, SumsOfManyTimesAsManyTerms) {
  // 64 terms of each sample: 2 chunks, and 16.
  Material few({"data.batch=32"}), many({"data.batch=256"});
  const std::string op = "isobit.ConvGradWeights";
  const Cost a = cost_of(few, op), b = cost_of(many, op);
  // States, parts of their tree and one of them more than an element of one chunk.
  EXPECT_EQ(a.turns, 7 + descents(a.tiles) + 3);
  EXPECT_EQ(b.turns, a.turns);
  EXPECT_LT(b.bytes, 2 * a.bytes);
}

// Of a lie about the last element of the value that the last convolution of a sample's inference makes.
TEST(DisputeCosts, AnEvaluationOfManyTimesAsManySamples) {
  Material few({"evaluate.samples=4"}), many({"evaluate.samples=360"});
  std::vector<Cost> costs;
  for (Material* material : {&few, &many}) {
    const auto& schema = material->honest().scored(3).value()->schema();
    uint64_t entry = 0;
    for (uint64_t i = 0; i < schema.size(); ++i) {
      if (schema[i].name.starts_with("conv")) entry = i;
    }
    const auto identity = dispute::TensorIdentity::of(schema.at(entry));
    const Lie lie = lie_about_sample(*material, 3, 0, std::pair(entry, identity.shape().elements() - 1));
    const Settled settled = settle(*material, {lie, Lie{}});
    EXPECT_EQ(settled.verdict.outcome, dispute::Outcome::kTrainerWrong) << settled.verdict.reason;
    EXPECT_EQ(settled.verdict.op, "Conv");
    EXPECT_EQ(settled.verdict.sample, uint64_t{3});
    const auto tiles = static_cast<uint64_t>(identity.grid().tiles());
    // Challenge, graph, values, tiles, leaf, node, grounds, and the descents.
    EXPECT_EQ(settled.turns, 7 + descents(material == &few ? 4 : 360) + descents(tiles));
    costs.push_back({settled.turns, settled.counts.bytes - settled.counts.list_bytes, settled.counts.list_bytes, tiles,
                     schema.size()});
  }
  // Both show 128 parts with three sums each, and those of the nodes above them, and once more where there are more.
  const uint64_t of_sums = 2 * 256 * (32 + 3 * (56 + 16));
  EXPECT_LT(costs[1].bytes, costs[0].bytes + 2 * of_sums);
  EXPECT_LT(costs[1].bytes, 400'000U);
  EXPECT_EQ(costs[1].list_bytes, costs[0].list_bytes);
}

TEST(DisputeCosts, NetworksOfMoreOperators) {
  const std::vector<std::string> resnet = {"model.builder=resnet", "model.width=4", "data.batch=8"};
  std::vector<std::string> deeper = resnet;
  deeper.emplace_back("model.blocks=3");
  Material shallow(resnet), deep(deeper);
  const Cost a = cost_of(shallow, "Conv"), b = cost_of(deep, "Conv");
  EXPECT_GT(b.entries, 2 * a.entries);
  EXPECT_EQ(a.turns, b.turns);
  // The head of the graph names its inputs, which are the parameters and the state of the optimizer.
  EXPECT_LT(b.bytes - a.bytes, 50 * (b.entries - a.entries));
  // Two roots and one line of the schema for each value.
  EXPECT_LT(b.list_bytes - a.list_bytes, 300 * (b.entries - a.entries));
}

}  // namespace
}  // namespace isobit::adversary::simulator
