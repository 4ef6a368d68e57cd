#include "isobit/verify/graph_tree.h"

#include <gtest/gtest.h>

#include "isobit/train/step_graph.h"

namespace isobit::verify {
namespace {

using graph::Graph;
using graph::ValueId;

// Every kind of attribute but a subgraph, an absent input, an initializer.
Graph small_graph(int64_t axis = 1, float constant = 2) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3});
  Tensor two(DType::kFloat32, {3});
  for (float& v : two.span<float>()) v = constant;
  const ValueId c = g.add_initializer("c", two);
  const ValueId y = g.emit("Mul", {x, c}, {}, "y");
  g.add_output(g.emit("Flatten", {y}, {{"axis", axis}}, "z"));
  return g;
}

train::StepGraph step_graph() {
  const auto job =
      train::parse_job(
          "[job]\nsteps = 1\n[model]\nbuilder = \"resnet\"\nwidth = 4\n[data]\ndataset = \"digits\"\nbatch = 2\n"
          "[optimizer]\nlr = 0.1\nmomentum = 0.9\nclip_norm = 1.0\n",
          "test", "")
          .value();
  return train::build_step_graph(job, *data::open_dataset(job.data).value()).value();
}

TEST(GraphTree, EveryNodeOfAStepOpens) {
  ThreadPool pool(1);
  const train::StepGraph step = step_graph();
  const GraphTree tree(step.graph, pool);
  for (uint64_t i = 0; i < step.graph.nodes().size(); ++i) {
    const Bytes bytes = encode(tree.prove(i));
    EXPECT_LT(bytes.size(), 64u << 10);
    const auto proof = decode_graph_node_proof(bytes, "proof");
    ASSERT_TRUE(proof) << proof.error().message;
    EXPECT_EQ(proof->node.op, step.graph.nodes()[i].op);
    EXPECT_EQ(encode(*proof), bytes);
    EXPECT_TRUE(verify_graph_node(*proof, tree.root()));
    EXPECT_FALSE(verify_graph_node(*proof, {}));
  }
}

TEST(GraphTree, WhatAGraphComputesReachesItsRoot) {
  ThreadPool pool(1);
  const commit::Digest root = graph_root(small_graph(), pool);
  // From tests/oracles/graph_oracle.py, which shares no code with this.
  EXPECT_EQ(commit::hex_of(root), "1f3c0bc2fdeada0516ff65dfb32b0b783a84247474a6ac920d4a6ea572feb773");
  EXPECT_EQ(graph_root(small_graph(), pool), root);
  EXPECT_NE(graph_root(small_graph(0), pool), root) << "an attribute";
  EXPECT_NE(graph_root(small_graph(1, 3), pool), root) << "a constant";
  Graph more = small_graph();
  more.add_output(0);
  EXPECT_NE(graph_root(more, pool), root) << "the outputs";
  Graph unused = small_graph();
  unused.add_input("unused", DType::kFloat32, {1});
  EXPECT_NE(graph_root(unused, pool), root) << "the inputs";
}

TEST(GraphNode, EveryKindOfAttributeRoundTrips) {
  const GraphNode node{7,
                       "isobit.Any",
                       {3, graph::kNoValue, 4},
                       {{5, "out", DType::kInt64, {-1, 3}}, {}},
                       {{"a", int64_t{-4}},
                        {"b", 0.5},
                        {"c", std::string("text")},
                        {"d", std::vector<int64_t>{1, -2}},
                        {"e", std::vector<double>{0.25}},
                        {"f", TensorAttribute{commit::sha256({})}},
                        {"g", SubgraphAttribute{}}}};
  const Bytes good = encode(node);
  EXPECT_EQ(decode_graph_node(good, "node").value(), node);
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_graph_node(ByteView(good).first(n), "node"));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const auto decoded = decode_graph_node(bad, "node");
    if (decoded) {
      EXPECT_EQ(encode(*decoded), bad) << bit;
    }
  }
  GraphNode unsorted = node;
  std::swap(unsorted.attributes[0], unsorted.attributes[1]);
  EXPECT_FALSE(decode_graph_node(encode(unsorted), "node"));
}

TEST(GraphNodeProof, ANodeInAnothersPlaceIsRejected) {
  ThreadPool pool(1);
  const GraphTree tree(small_graph(), pool);
  GraphNodeProof proof = tree.prove(0);
  proof.inclusion = tree.prove(1).inclusion;
  EXPECT_FALSE(verify_graph_node(proof, tree.root()));
  proof = tree.prove(0);
  proof.node.op = "Add";
  EXPECT_FALSE(verify_graph_node(proof, tree.root()));
  proof = tree.prove(0);
  proof.head[0] ^= 1;
  EXPECT_FALSE(verify_graph_node(proof, tree.root()));
}

}  // namespace
}  // namespace isobit::verify
