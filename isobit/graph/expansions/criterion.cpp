#include "isobit/graph/expansions/criterion.h"

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"

namespace isobit::graph::expansions {
namespace {

class Elements {
 public:
  Elements(Builder& builder, const CriterionArguments& arguments) : b_(builder), a_(arguments) {}

  ValueId losses() {
    if (a_.criterion == Criterion::kLogistic) return logistic();
    const ValueId difference = b_.sub(a_.output, a_.target, "difference");
    if (a_.criterion == Criterion::kSquared) return b_.mul(difference, difference, "squared");
    const ValueId distance = b_.unary("Abs", difference, "distance");
    return a_.criterion == Criterion::kAbsolute ? distance : huber(distance);
  }

 private:
  ValueId number(double value) { return b_.scalar(b_.dtype(a_.output), value); }

  ValueId huber(ValueId distance) {
    const ValueId near = b_.node("Min", {distance, number(a_.delta)}, {}, "near");
    const ValueId half = b_.mul(near, number(0.5), "half");
    return b_.mul(near, b_.sub(distance, half, "slope"), "losses");
  }

  ValueId logistic() {
    const ValueId wrong_low = b_.unary("Softplus", b_.unary("Neg", a_.output, "negative"), "too_low");
    const ValueId wrong_high = b_.unary("Softplus", a_.output, "too_high");
    const ValueId rest = b_.sub(number(1), a_.target, "rest");
    return b_.add(b_.mul(a_.target, wrong_low, "of_ones"), b_.mul(rest, wrong_high, "of_zeros"), "losses");
  }

  Builder& b_;
  const CriterionArguments& a_;
};

Expected<ValueId> finished(const Builder& builder, ValueId value) {
  ISOBIT_TRY(const std::vector<ValueId> values, builder.finish({value}));
  return values[0];
}

}  // namespace

Expected<ValueId> criterion_loss(Graph& graph, const CriterionArguments& a) {
  Builder b(graph, "loss", a.name);
  b.require_ranks({a.output, a.target});
  b.require(b.is_float(a.output) && b.dtype(a.output) == b.dtype(a.target),
            text_of("the output is ", name_of(b.dtype(a.output)), " and the target ", name_of(b.dtype(a.target)),
                    ", expected float32 both, or float64"));
  b.require(b.dims(a.output) == b.dims(a.target), text_of("the output has shape ", Shape(b.dims(a.output)).text(),
                                                          ", the target ", Shape(b.dims(a.target)).text()));
  const int rank = b.rank(a.output);
  b.require(!a.by_sample || rank > 0, "a scalar has no samples");
  b.require(a.criterion != Criterion::kHuber || a.delta > 0, text_of("delta is ", a.delta, ", expected above 0"));
  const ValueId losses = Elements(b, a).losses();
  std::vector<int64_t> axes;
  for (int axis = a.by_sample ? 1 : 0; axis < rank; ++axis) axes.push_back(axis);
  // One element, or one for each sample already.
  if (axes.empty()) return finished(b, losses);
  return finished(b, b.reduce("ReduceMean", losses, axes, false, a.by_sample ? "row_loss" : "mean"));
}

Expected<ValueId> smoothed_cross_entropy(Graph& graph, const std::string& name, ValueId loss, ValueId scores,
                                         double share) {
  Builder b(graph, "loss", name);
  b.require(b.rank(scores) == 2, text_of("the scores have rank ", b.rank(scores), ", expected 2"));
  b.require(share >= 0 && share < 1, text_of("a share of ", share, " is not in [0, 1)"));
  const DType dtype = b.dtype(scores);
  const ValueId log_prob = b.unary("LogSoftmax", scores, "log_softmax");
  const ValueId spread = b.unary("Neg", b.reduce("ReduceMean", log_prob, {0, 1}, false, "mean_log"), "spread");
  const ValueId kept = b.mul(loss, b.scalar(dtype, 1 - share), "of_target");
  return finished(b, b.add(kept, b.mul(spread, b.scalar(dtype, share), "of_all"), "smoothed"));
}

}  // namespace isobit::graph::expansions
