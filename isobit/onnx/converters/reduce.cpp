// Sums, extremes and places along axes; softmax (isobit/graph/expansions/reductions.h, softmax.h). Up to opset 12
// (ReduceSum) and 17 (the others) axes were an attribute, which is the form that the graph has.
#include "isobit/graph/expansions/reductions.h"
#include "isobit/graph/expansions/softmax.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {

namespace expansions = graph::expansions;

void add_reduce_rows(Table& table) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    table.same(op).list(1, "axes").without("noop_with_empty_axes", 0);
  }
  const std::pair<const char*, Expansion> written[] = {{"ReduceL1", expansions::reduce_l1},
                                                       {"ReduceL2", expansions::reduce_l2},
                                                       {"ReduceLogSum", expansions::reduce_log_sum},
                                                       {"ReduceLogSumExp", expansions::reduce_log_sum_exp}};
  for (const auto& [op, expansion] : written) {
    table.expanded(op, expansion).list(1, "axes").without("noop_with_empty_axes", 0);
  }
  table.same("ArgMax").own_type(0).without("select_last_index", 0);
  table.same("ArgMin").own_type(0).without("select_last_index", 0);
  table.same("TopK").whole(1, "k").own_type(1);
  table.same("CumSum").whole(1, "axis");
  // Up to opset 12: over all axes from `axis` on, as one.
  table.expanded("Softmax", expansions::softmax_of_matrix).until(12);
  table.expanded("Softmax", expansions::softmax).since(13);
  table.expanded("LogSoftmax", expansions::log_softmax_of_matrix).until(12);
  table.expanded("LogSoftmax", expansions::log_softmax).since(13);
  table.expanded("Hardmax", expansions::hardmax_of_matrix).until(12);
  table.expanded("Hardmax", expansions::hardmax).since(13);
}

}  // namespace isobit::onnx
