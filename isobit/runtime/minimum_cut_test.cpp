#include "isobit/runtime/minimum_cut.h"

#include <gtest/gtest.h>

#include <random>

namespace isobit::runtime {
namespace {

using Cut = std::vector<int>;

TEST(MinimumCut, IsOfLeastWeight) {
  //      5 - 1
  //  s <       > 4 - t     the middle is dearer than what it comes from, the end dearer still
  //      3 - 1
  MinimumCut network;
  const int a = network.add_vertex(5), b = network.add_vertex(3), c = network.add_vertex(1), d = network.add_vertex(1),
            e = network.add_vertex(4);
  network.from_source(a);
  network.from_source(b);
  network.add_edge(a, c);
  network.add_edge(b, d);
  network.add_edge(c, e);
  network.add_edge(d, e);
  network.to_sink(e);
  EXPECT_EQ(network.cut(), (Cut{c, d}));
}

TEST(MinimumCut, IsTheOneNearestToTheSink) {
  MinimumCut network;
  const int a = network.add_vertex(2), b = network.add_vertex(2), c = network.add_vertex(3);
  network.from_source(a);
  network.add_edge(a, b);
  network.add_edge(b, c);
  network.to_sink(c);
  EXPECT_EQ(network.cut(), Cut{b});
}

TEST(MinimumCut, IsEmptyWhereNothingLeadsToTheSink) {
  MinimumCut network;
  const int a = network.add_vertex(2), b = network.add_vertex(2);
  network.from_source(a);
  network.to_sink(b);
  EXPECT_TRUE(network.cut().empty());
  EXPECT_TRUE(MinimumCut().cut().empty());
}

TEST(MinimumCut, AVertexOfNoWeightCostsNothing) {
  MinimumCut network;
  const int a = network.add_vertex(0), b = network.add_vertex(MinimumCut::kNever);
  network.from_source(a);
  network.add_edge(a, b);
  network.to_sink(b);
  EXPECT_EQ(network.cut(), Cut{a});
}

// Every set of vertices is tried.
TEST(MinimumCut, NoSetOfVerticesWeighsLess) {
  constexpr int kVertices = 9;
  int cuts = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<int64_t> weights;
    std::vector<std::pair<int, int>> edges;
    std::vector<char> from(kVertices), to(kVertices);
    MinimumCut network;
    for (int v = 0; v < kVertices; ++v) {
      weights.push_back(static_cast<int64_t>(random() % 8));
      network.add_vertex(weights.back());
      if ((from[static_cast<size_t>(v)] = static_cast<char>(random() % 4 == 0)) != 0) network.from_source(v);
      if ((to[static_cast<size_t>(v)] = static_cast<char>(random() % 4 == 0)) != 0) network.to_sink(v);
      for (int u = 0; u < v; ++u) {
        if (random() % 3 != 0) continue;
        edges.emplace_back(u, v);
        network.add_edge(u, v);
      }
    }
    const auto parts = [&](uint32_t set) {
      std::vector<char> reached(kVertices, 0);
      for (int v = 0; v < kVertices; ++v) {
        bool here = from[static_cast<size_t>(v)] != 0;
        for (const auto& [u, w] : edges) here = here || (w == v && reached[static_cast<size_t>(u)] != 0);
        reached[static_cast<size_t>(v)] = static_cast<char>(here && (set >> v & 1) == 0);
        if (reached[static_cast<size_t>(v)] != 0 && to[static_cast<size_t>(v)] != 0) return false;
      }
      return true;
    };
    const auto weight = [&](uint32_t set) {
      int64_t sum = 0;
      for (int v = 0; v < kVertices; ++v) sum += (set >> v & 1) != 0 ? weights[static_cast<size_t>(v)] : 0;
      return sum;
    };
    int64_t least = INT64_MAX;
    for (uint32_t set = 0; set < 1u << kVertices; ++set) {
      if (parts(set)) least = std::min(least, weight(set));
    }
    uint32_t found = 0;
    for (const int v : network.cut()) found |= 1u << v;
    EXPECT_TRUE(parts(found)) << seed;
    EXPECT_EQ(weight(found), least) << seed;
    cuts += least > 0 ? 1 : 0;
  }
  EXPECT_GT(cuts, 100);
}

}  // namespace
}  // namespace isobit::runtime
