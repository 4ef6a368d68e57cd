// Operators that no formula of primitives says well: determinants and ensembles of trees.
#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/sources_statistics.h"

namespace isobit::graph::ops {
namespace {

using Ints = std::vector<int64_t>;

// [.., n, n] -> [..]
Status infer_det(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (c.rank(0) < 2) return unreadable("the source needs rank 2 or more ([.., n, n])");
  const int64_t rows = c.dim(0, -2), columns = c.dim(0, -1);
  if (rows >= 0 && columns >= 0 && rows != columns) {
    return unreadable(text_of("matrices of ", rows, " x ", columns, " are not square"));
  }
  c.set_output(0, c.input(0).dtype, {c.dims(0).begin(), c.dims(0).end() - 2});
  return {};
}

// The attributes of isobit.TreeEnsemble, as the shape inference of a node looks at them.
class TreeCheck {
 public:
  explicit TreeCheck(const Attributes& a) : a_(a), nodes_(list("nodes_featureids").size()) {}

  // features: of a row; -1: not known
  Status check(int64_t features) const {
    ISOBIT_RETURN_IF_ERROR(check_lengths());
    ISOBIT_RETURN_IF_ERROR(check_range("nodes_featureids", features < 0 ? INT64_MAX : features));
    ISOBIT_RETURN_IF_ERROR(check_range("nodes_modes", kMember + 1));
    ISOBIT_RETURN_IF_ERROR(check_range("tree_roots", static_cast<int64_t>(nodes_)));
    for (const char* flags : {"nodes_trueleafs", "nodes_falseleafs", "nodes_missing_value_tracks_true"}) {
      ISOBIT_RETURN_IF_ERROR(check_range(flags, 2));
    }
    ISOBIT_RETURN_IF_ERROR(check_leaves());
    ISOBIT_RETURN_IF_ERROR(check_members());
    return check_paths();
  }

 private:
  static constexpr int64_t kMember = 6;

  Ints list(const char* name) const { return a_.integers(name, {}); }
  size_t reals(const char* name) const {
    const auto found = a_.items().find(name);
    return found == a_.items().end() ? 0 : std::get<std::vector<double>>(found->second).size();
  }

  Status check_lengths() const {
    if (list("tree_roots").empty()) return unreadable("there are no trees");
    for (const char* name : {"nodes_modes", "nodes_missing_value_tracks_true", "nodes_truenodeids", "nodes_trueleafs",
                             "nodes_falsenodeids", "nodes_falseleafs"}) {
      if (list(name).size() == nodes_) continue;
      return unreadable(text_of("'", name, "' has ", list(name).size(), " numbers for ", nodes_, " nodes"));
    }
    if (reals("nodes_splits") != nodes_) {
      return unreadable(text_of("'nodes_splits' has ", reals("nodes_splits"), " numbers for ", nodes_, " nodes"));
    }
    if (list("leaf_targetids").size() != reals("leaf_weights")) {
      return unreadable("'leaf_targetids' and 'leaf_weights' differ in length");
    }
    return {};
  }

  Status check_range(const char* name, int64_t end) const {
    for (int64_t x : list(name)) {
      if (x < 0 || x >= end) return unreadable(text_of("'", name, "' has ", x, ", expected 0 to ", end - 1));
    }
    return {};
  }

  Status check_leaves() const {
    const int64_t targets = a_.integer("n_targets", 1), aggregate = a_.integer("aggregate_function", 1);
    if (targets < 1) return unreadable(text_of("'n_targets' is ", targets, ", expected 1 or more"));
    if (aggregate < 0 || aggregate > 3) return unreadable(text_of("aggregate_function ", aggregate, " is not known"));
    ISOBIT_RETURN_IF_ERROR(check_range("leaf_targetids", targets));
    const Ints starts = list("leaf_starts");
    const auto pairs = static_cast<int64_t>(list("leaf_targetids").size());
    if (starts.empty() || starts.front() != 0 || starts.back() != pairs ||
        !std::is_sorted(starts.begin(), starts.end())) {
      return unreadable(text_of("'leaf_starts' does not ascend from 0 to ", pairs));
    }
    return {};
  }

  // The sets of the nodes of mode kMember, each ended by a NaN.
  Status check_members() const {
    const Ints modes = list("nodes_modes");
    const auto wanted = std::count(modes.begin(), modes.end(), kMember);
    const auto found = a_.items().find("membership_values");
    std::vector<double> members;
    if (found != a_.items().end()) members = std::get<std::vector<double>>(found->second);
    const auto sets = std::count_if(members.begin(), members.end(), [](double x) { return std::isnan(x); });
    if (wanted == sets && (members.empty() || std::isnan(members.back()))) return {};
    return unreadable(text_of("'membership_values' has ", sets, " sets ended by a NaN for ", wanted, " nodes"));
  }

  // Where the true or the false side of each node leads: a node, or -1 for a leaf.
  Expected<Ints> children(const char* ids_name, const char* leafs_name) const {
    const Ints ids = list(ids_name), leafs = list(leafs_name);
    const auto leaves = static_cast<int64_t>(list("leaf_starts").size()) - 1;
    Ints children;
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t end = leafs[i] == 1 ? leaves : static_cast<int64_t>(nodes_);
      if (ids[i] < 0 || ids[i] >= end) {
        return unreadable(text_of("'", ids_name, "' of node ", i, " is ", ids[i], ", expected 0 to ", end - 1));
      }
      children.push_back(leafs[i] == 1 ? -1 : ids[i]);
    }
    return children;
  }

  // From the roots one way leads to each node: no path is endless, and no tree is a part of another.
  Status check_paths() const {
    ISOBIT_TRY(const Ints where_true, children("nodes_truenodeids", "nodes_trueleafs"));
    ISOBIT_TRY(const Ints where_false, children("nodes_falsenodeids", "nodes_falseleafs"));
    std::vector<bool> reached(nodes_, false);
    Ints open = list("tree_roots");
    while (!open.empty()) {
      const int64_t node = open.back();
      open.pop_back();
      if (node < 0) continue;
      const auto at = static_cast<size_t>(node);
      if (reached[at]) return unreadable(text_of("two ways lead to node ", node));
      reached[at] = true;
      open.insert(open.end(), {where_true[at], where_false[at]});
    }
    const auto lost = std::find(reached.begin(), reached.end(), false) - reached.begin();
    if (lost < static_cast<int64_t>(nodes_)) return unreadable(text_of("no tree has node ", lost));
    return {};
  }

  const Attributes& a_;
  const size_t nodes_;
};

// [N, C] -> [N, n_targets]
Status infer_tree_ensemble(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"tree_roots", kInts},
                                              {"nodes_featureids", kInts},
                                              {"nodes_modes", kInts},
                                              {"nodes_splits", kReals},
                                              {"nodes_missing_value_tracks_true", kInts},
                                              {"nodes_truenodeids", kInts},
                                              {"nodes_trueleafs", kInts},
                                              {"nodes_falsenodeids", kInts},
                                              {"nodes_falseleafs", kInts},
                                              {"leaf_starts", kInts},
                                              {"leaf_targetids", kInts},
                                              {"leaf_weights", kReals},
                                              {"membership_values", kReals},
                                              {"n_targets", kInt},
                                              {"aggregate_function", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 2));
  ISOBIT_RETURN_IF_ERROR(TreeCheck(c.attributes()).check(c.dim(0, 1)));
  c.set_output(0, c.input(0).dtype, {c.dim(0, 0), c.attributes().integer("n_targets", 1)});
  return {};
}

}  // namespace

void add_composite(std::vector<OpDef>& defs) {
  add_ordered(
      defs, {.name = "Det", .infer = infer_det, .outputs = {made_of(of_whole_row, output_by(ElementRule::kFormula))}});
  add_ordered(defs, {.name = "isobit.TreeEnsemble",
                     .infer = infer_tree_ensemble,
                     .outputs = {made_of(of_line(-1), output_by(ElementRule::kFormula))}});
}

}  // namespace isobit::graph::ops
