#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/criterion.h"
#include "isobit/train/step_graph_loss_internal.h"

namespace isobit::train {
namespace {

using Dims = std::vector<int64_t>;
using graph::kNoValue;
using graph::ValueId;

class LossBuilder {
 public:
  LossBuilder(const Job& job, const data::DataShape& data, int64_t batch, bool training, models::Model& model)
      : job_(job),
        data_(data),
        batch_(batch),
        training_(training),
        model_(model),
        graph_(model.graph),
        output_(model.output) {}

  Expected<LossPart> run() {
    ISOBIT_RETURN_IF_ERROR(check_output());
    if (job_.loss == Loss::kOutput) return own_loss();
    return job_.loss == Loss::kCrossEntropy ? cross_entropy() : criterion();
  }

 private:
  const graph::Value& output() const { return graph_.value(output_); }
  tl::unexpected<Error> misfit(std::string_view reason) const {
    return unreadable(text_of("model.loss: output '", output().name, "' is ", name_of(output().dtype), " ",
                              output().has_rank() ? Shape(output().dims).text() : "of unknown rank", ": ", reason));
  }

  Status check_output() {
    if (HalfTypes::contains(output().dtype)) {
      output_ = graph_.emit("Cast", {output_}, {{"to", static_cast<int64_t>(DType::kFloat32)}}, "output/float32");
    }
    if (output().dtype != DType::kFloat32) return misfit("a loss is of float32");
    if (!output().is_static()) return misfit("its shape is not known before the run, and a loss needs it");
    return {};
  }

  // The target with its batch.
  Dims target_dims() const {
    Dims dims = {batch_};
    dims.insert(dims.end(), data_.target.shape.begin(), data_.target.shape.end());
    return dims;
  }
  std::string target_text() const {
    const auto kind = static_cast<size_t>(data_.target.kind);
    return text_of("the target of dataset '", data_.name, "' is ", data::target_kind_names()[kind], " ",
                   Shape(data_.target.shape).text());
  }

  Expected<LossPart> own_loss() {
    if (output().shape().elements() != 1) return misfit("expected one number, the loss of the batch");
    const Dims wanted = training_ ? Dims{} : Dims{1};
    const ValueId loss = output().dims == wanted
                             ? output_
                             : graph_.emit("Reshape", {output_}, {{"shape", wanted}}, training_ ? "loss" : "row_loss");
    LossPart part;
    (training_ ? part.loss : part.rows) = loss;
    part.output = output_;
    return part;
  }

  // The scores as [rows, classes].
  Expected<ValueId> rows_of_scores() {
    const Dims target = target_dims(), dims = output().dims;
    const int64_t rows = Shape(target).elements();
    if (dims.size() == 2 && dims[0] == rows) return output_;
    const bool last = dims.size() == target.size() + 1 && std::equal(target.begin(), target.end(), dims.begin());
    const bool second = dims.size() == target.size() + 1 && dims[0] == batch_ &&
                        std::equal(target.begin() + 1, target.end(), dims.begin() + 2);
    if (!last && !second) {
      return misfit(text_of("expected scores [", rows, ", classes], or classes behind the first axis or the last; ",
                            target_text()));
    }
    if (last && second) {
      model_.remarks.push_back(text_of("scores '", output().name, "' ", Shape(dims).text(),
                                       " fit with the classes as last axis and as second; they are read as the last"));
    }
    ValueId scores = output_;
    if (!last) {
      Dims order = {0};
      for (size_t axis = 2; axis < dims.size(); ++axis) order.push_back(static_cast<int64_t>(axis));
      order.push_back(1);
      scores = graph_.emit("Transpose", {scores}, {{"perm", order}}, "scores/classes_last");
    }
    return graph_.emit("Reshape", {scores}, {{"shape", Dims{rows, last ? dims.back() : dims[1]}}}, "scores");
  }

  Expected<LossPart> cross_entropy() {
    const data::TargetKind kind = data_.target.kind;
    if (kind != data::TargetKind::kClass && kind != data::TargetKind::kClassPerToken) {
      return misfit(text_of("cross-entropy is of classes, and ", target_text(), "; see data.target and model.loss"));
    }
    ISOBIT_TRY(const ValueId scores, rows_of_scores());
    const Dims dims = graph_.value(scores).dims;
    if (dims[1] < data_.target.classes) {
      return misfit(
          text_of(dims[1], " scores for the ", data_.target.classes, " classes of dataset '", data_.name, "'"));
    }
    LossPart part;
    part.output = scores;
    part.target = graph_.add_input("labels", DType::kInt64, {dims[0]});
    const auto losses = graph_.emit_all("isobit.CrossEntropy", {scores, part.target}, {},
                                        {"loss", "row_loss", "row_max", "row_log_sum"});
    part.rows = losses[1];
    part.loss = losses[0];
    if (training_ && job_.label_smoothing > 0) {
      ISOBIT_TRY(part.loss,
                 graph::expansions::smoothed_cross_entropy(graph_, "loss", losses[0], scores, job_.label_smoothing));
    }
    return part;
  }

  graph::expansions::Criterion kind_of_criterion() const {
    using graph::expansions::Criterion;
    switch (job_.loss) {
      case Loss::kL1:
        return Criterion::kAbsolute;
      case Loss::kHuber:
        return Criterion::kHuber;
      case Loss::kBceWithLogits:
        return Criterion::kLogistic;
      default:
        return Criterion::kSquared;
    }
  }

  Expected<LossPart> criterion() {
    if (data_.target.dtype != DType::kFloat32 || data_.target.kind == data::TargetKind::kNone) {
      return misfit(text_of("this loss is of numbers, and ", target_text(), "; see data.target and model.loss"));
    }
    Dims wanted = target_dims(), found = output().dims;
    std::erase(wanted, 1);
    std::erase(found, 1);
    if (wanted != found) return misfit(text_of("it is to have the target's shape, and ", target_text()));
    if (output().dims.empty() || output().dims[0] != batch_) return misfit("its first axis is not that of the batch");
    LossPart part;
    part.output = output_;
    part.target = graph_.add_input("target", DType::kFloat32, output().dims);
    const graph::expansions::CriterionArguments arguments{.criterion = kind_of_criterion(),
                                                          .name = "loss",
                                                          .output = output_,
                                                          .target = part.target,
                                                          .delta = job_.huber_delta,
                                                          .by_sample = !training_};
    ISOBIT_TRY((training_ ? part.loss : part.rows), graph::expansions::criterion_loss(graph_, arguments));
    return part;
  }

  const Job& job_;
  const data::DataShape& data_;
  const int64_t batch_;
  const bool training_;
  models::Model& model_;
  graph::Graph& graph_;
  ValueId output_;
};

}  // namespace

Expected<LossPart> append_loss(const Job& job, const data::DataShape& data, int64_t batch, bool training,
                               models::Model& model) {
  return LossBuilder(job, data, batch, training, model).run();
}

}  // namespace isobit::train
