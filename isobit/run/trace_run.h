// A step of a run, computed again with every value of it hashed: the trace that a trainer shows, and that whoever
// doubts it compares with.
#pragma once

#include <functional>
#include <optional>

#include "isobit/platform/platform.h"
#include "isobit/run/open_run.h"
#include "isobit/run/static_checks.h"
#include "isobit/verify/step_trace.h"

namespace isobit::run {

struct TraceRequest {
  OpenRequest open;
  platform::Platform platform;
  uint64_t step = 1;
  // Which value's tensor is wanted beside the trace; none: no tensor is kept. Empty: none.
  std::function<Expected<std::optional<uint64_t>>(const std::vector<train::TraceEntry>&)> choose;
  // Whether a step that comes out otherwise than the run commits to is traced as this machine computes it: to be
  // compared with the trace of whoever computed the run.
  bool as_computed_here = false;
  Progress progress;  // after each step that is computed on the way
};

struct TracedStep {
  verify::StepTrace trace;
  commit::Digest schema{};  // that the job root binds
  std::optional<uint64_t> chosen;
  Tensor value;          // of the chosen one
  uint64_t from = 0;     // the step whose state it was computed from
  bool settled = false;  // whether the run commits to the state after the step, and it is this one
  std::string differs;   // of TraceRequest::as_computed_here: in what the step is not the run's; "": in nothing known
  std::vector<std::string> operators;  // of the step's graph, by node
  verify::Engagement engagement;       // of the run

  // Of the node that makes the value; "" where none does.
  std::string operator_of(uint64_t entry) const;
};

// From the run's nearest checkpoint before the step, or its initial state. Errors: those of open_run and open_session,
// and of `choose`; kUsage for a step that the run does not have; kUnreadable for a network whose steps have no schema;
// kRejected where this machine computes another batch, loss or state than the run commits to, before the step and
// (unless as_computed_here) after it: 'isobit audit' then says where. Takes, beside what training does, the memory of
// the largest value.
Expected<TracedStep> trace_step(const TraceRequest& request);

// The opening of the chosen value with these of its tiles. REQUIRES a chosen value, and tiles that it has.
verify::ValueOpening open_value(const TracedStep& traced, const std::vector<uint64_t>& tiles, ThreadPool& pool);

}  // namespace isobit::run
