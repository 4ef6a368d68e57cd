// Of determinants and ensembles of trees: nodes that shape inference takes and nodes that it must refuse.
#include <limits>

#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

using Reals = std::vector<double>;

constexpr double kEnd = std::numeric_limits<double>::quiet_NaN();  // of a set of members

// Node 0 leads to node 1 and leaf 0, node 1 (a set) to leaves 1 and 2; a second tree is node 2 with leaves 0 and 2.
Attributes trees(const Attributes& other = {}) {
  Attributes all = {{"tree_roots", Ints{0, 2}},
                    {"nodes_featureids", Ints{0, 1, 2}},
                    {"nodes_modes", Ints{0, 6, 3}},
                    {"nodes_splits", Reals{0.5, 0, -1}},
                    {"nodes_missing_value_tracks_true", Ints{0, 1, 0}},
                    {"nodes_truenodeids", Ints{1, 1, 0}},
                    {"nodes_trueleafs", Ints{0, 1, 1}},
                    {"nodes_falsenodeids", Ints{0, 2, 2}},
                    {"nodes_falseleafs", Ints{1, 1, 1}},
                    {"leaf_starts", Ints{0, 1, 3, 3}},
                    {"leaf_targetids", Ints{0, 1, 0}},
                    {"leaf_weights", Reals{1.5, -2, 4}},
                    {"membership_values", Reals{1, 2, kEnd}},
                    {"n_targets", int64_t{2}},
                    {"aggregate_function", int64_t{1}}};
  for (const auto& [name, attribute] : other.items()) all.set(name, attribute);
  return all;
}

}  // namespace

void add_accepted_composite(std::vector<Accepted>& all) {
  all.push_back({"Det", {f32({4, 3, 3})}, {f32({4})}});
  all.push_back({"isobit.TreeEnsemble", {f32({5, 3})}, {f32({5, 2})}, trees()});
}

void add_refused_composite(std::vector<Refused>& all) {
  const std::vector<Type> x = {f32({5, 3})};
  const char* const op = "isobit.TreeEnsemble";
  for (const Refused& r : std::vector<Refused>{
           {"Det", {i64({2, 2})}, "expected float32 or float64"},
           {"Det", {f32({3})}, "the source needs rank 2 or more"},
           {"Det", {f32({2, 2, 3})}, "matrices of 2 x 3 are not square"},
           {op, {i64({5, 3})}, "expected float32 or float64", trees()},
           {op, {f32({3})}, "expected rank 2", trees()},
           {op, {f32({5, 2})}, "'nodes_featureids' has 2, expected 0 to 1", trees()},
           {op, x, "'nodes_featureids' has -1", trees({{"nodes_featureids", Ints{0, -1, 2}}})},
           {op, x, "there are no trees", trees({{"tree_roots", Ints{}}})},
           {op, x, "there are no trees"},
           {op, x, "'tree_roots' has 3, expected 0 to 2", trees({{"tree_roots", Ints{0, 3}}})},
           {op, x, "'nodes_modes' has 7, expected 0 to 6", trees({{"nodes_modes", Ints{0, 7, 3}}})},
           {op, x, "'nodes_modes' has 2 numbers for 3 nodes", trees({{"nodes_modes", Ints{0, 6}}})},
           {op, x, "'nodes_splits' has 1 numbers for 3 nodes", trees({{"nodes_splits", Reals{1}}})},
           {op, x, "'nodes_trueleafs' has 2, expected 0 to 1", trees({{"nodes_trueleafs", Ints{0, 2, 1}}})},
           {op, x, "differ in length", trees({{"leaf_weights", Reals{1}}})},
           {op, x, "'n_targets' is 0", trees({{"n_targets", int64_t{0}}})},
           {op, x, "aggregate_function 4 is not known", trees({{"aggregate_function", int64_t{4}}})},
           {op, x, "'leaf_targetids' has 1, expected 0 to 0", trees({{"n_targets", int64_t{1}}})},
           {op, x, "'leaf_starts' does not ascend from 0 to 3", trees({{"leaf_starts", Ints{0, 2, 1, 3}}})},
           {op, x, "'leaf_starts' does not ascend from 0 to 3", trees({{"leaf_starts", Ints{0, 1, 3, 4}}})},
           {op, x, "'leaf_starts' does not ascend from 0 to 3", trees({{"leaf_starts", Ints{}}})},
           {op, x, "has 0 sets ended by a NaN for 1 nodes", trees({{"membership_values", Reals{1, 2}}})},
           {op, x, "has 1 sets ended by a NaN for 1 nodes", trees({{"membership_values", Reals{1, kEnd, 2}}})},
           {op, x, "'nodes_truenodeids' of node 1 is 3", trees({{"nodes_truenodeids", Ints{1, 3, 0}}})},
           {op, x, "'nodes_falsenodeids' of node 0 is -1", trees({{"nodes_falsenodeids", Ints{-1, 2, 2}}})},
           {op, x, "two ways lead to node 0", trees({{"nodes_truenodeids", Ints{0, 1, 0}}})},
           {op, x, "two ways lead to node 1", trees({{"tree_roots", Ints{0, 1}}})},
           {op, x, "two ways lead to node 0", trees({{"tree_roots", Ints{0, 0}}})},
           {op, x, "no tree has node 2", trees({{"tree_roots", Ints{0}}})},
           {op, x, "no tree has node 0",
            trees({{"tree_roots", Ints{2}}, {"nodes_truenodeids", Ints{1, 0, 0}}, {"nodes_trueleafs", Ints{0, 0, 1}}})},
       }) {
    all.push_back(r);
  }
}

}  // namespace isobit::graph
