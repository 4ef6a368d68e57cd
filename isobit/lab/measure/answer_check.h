// Whether what a worker answers is of what it was asked for.
#pragma once

#include "isobit/lab/measure/protocol.h"

namespace isobit::lab::measure {

// Of an answer that ran: kUnreadable unless it has a run that was asked for first and no other, is of the platform that
// was asked, and its untapped run has exactly the model's outputs (`outputs`; empty: of a training, whose outputs are
// for its worker to name). Nothing for an answer that did not run.
Status check_answer(const WorkerAnswer& answer, const WorkerRequest& request, const std::vector<std::string>& outputs);

}  // namespace isobit::lab::measure
