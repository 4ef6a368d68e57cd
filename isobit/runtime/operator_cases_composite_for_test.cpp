// Examples of determinants and ensembles of trees.
#include <limits>

#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::runtime {

void add_composite_cases(std::vector<OperatorCase>& cases) {
  using Ints = std::vector<int64_t>;
  using Reals = std::vector<double>;
  const auto numbers = [](Ints dims) { return CaseOperand{.kind = CaseOperand::Kind::kReal, .dims = std::move(dims)}; };
  cases.push_back({"Det", {numbers({3, 3, 3})}});
  cases.push_back({"Det", {numbers({1, 1})}});
  const double end = std::numeric_limits<double>::quiet_NaN();
  for (int64_t aggregate : {0, 1, 2, 3}) {
    cases.push_back({"isobit.TreeEnsemble",
                     {numbers({6, 2})},
                     {{"tree_roots", Ints{0, 2}},
                      {"nodes_featureids", Ints{0, 1, 1}},
                      {"nodes_modes", Ints{0, 6, 3}},
                      {"nodes_splits", Reals{0, 0, 0}},
                      {"nodes_missing_value_tracks_true", Ints{0, 1, 0}},
                      {"nodes_truenodeids", Ints{1, 1, 0}},
                      {"nodes_trueleafs", Ints{0, 1, 1}},
                      {"nodes_falsenodeids", Ints{0, 2, 2}},
                      {"nodes_falseleafs", Ints{1, 1, 1}},
                      {"leaf_starts", Ints{0, 1, 3, 4}},
                      {"leaf_targetids", Ints{0, 1, 0, 1}},
                      {"leaf_weights", Reals{1.5, -2, 4, 32}},
                      {"membership_values", Reals{1, 2, end}},
                      {"n_targets", int64_t{2}},
                      {"aggregate_function", aggregate}}});
  }
}

}  // namespace isobit::runtime
