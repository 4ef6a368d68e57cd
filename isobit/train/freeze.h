// Parameters that training leaves as they are.
#pragma once

#include "isobit/train/backward_pass.h"
#include "isobit/train/job.h"

namespace isobit::train {

// Takes what model.freeze names out of the model's parameters, and buffers that a step does not change out of its
// buffers, into pass.frozen; sets pass.places. Of a model without gradients yet. kUnreadable: a pattern that names no
// parameter and no buffer, with the nearest name; nothing left to train; a parameter of another type than float32.
Status freeze(const Job& job, BackwardPass& pass);

// The same of parameters that no gradient reaches, which the network says in a remark. kUnreadable: it reaches none.
Status freeze_unreached(BackwardPass& pass);

}  // namespace isobit::train
