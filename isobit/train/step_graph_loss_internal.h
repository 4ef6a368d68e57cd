// The loss of a job behind the output of its network.
#pragma once

#include "isobit/data/data_shape.h"
#include "isobit/models/model.h"
#include "isobit/train/job.h"

namespace isobit::train {

struct LossPart {
  graph::ValueId target = graph::kNoValue;  // an input; kNoValue where the loss takes none
  graph::ValueId loss = graph::kNoValue;    // of the batch: a scalar
  graph::ValueId rows = graph::kNoValue;    // of evaluation, in place of `loss`: [rows], as many for each sample
  graph::ValueId output = graph::kNoValue;  // what metrics compare with the target (metrics.h)
};

// Appends it to the model's graph, for `batch` samples. In training `loss`, in evaluation `rows`, without the smoothing
// of labels, which is of training alone.
//
//   cross-entropy   targets are classes; scores [rows, classes], [batch, places of the target ..., classes] or
//                   [batch, classes, places ...], the first of these that fits
//   mse, l1, huber, bce-with-logits
//                   targets are float32, of the output's shape but for axes of one place (graph/expansions/criterion.h)
//   output          the output is the loss: one number; of evaluation, where there is one sample
//
// kUnreadable: an output that does not fit the target, or whose shape follows from data.
Expected<LossPart> append_loss(const Job& job, const data::DataShape& data, int64_t batch, bool training,
                               models::Model& model);

}  // namespace isobit::train
