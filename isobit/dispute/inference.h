// An inference with a receipt as what a dispute or a spot check is about: one step without state, fed with inputs that
// everybody knows by their digests, claimed to end with the outputs of the receipt.
#pragma once

#include <string>
#include <vector>

#include "isobit/dispute/subject.h"
#include "isobit/train/trace_schema.h"
#include "isobit/verify/job_parts.h"

namespace isobit::dispute {

// Whether anybody else can compute an inference's bits: without a log, in the types that the model has.
bool is_checkable(const platform::Arithmetic& arithmetic);

// The server is the trainer, the computation the job, the receipt the run: messages are bound to both. kRejected for a
// receipt that is not validly signed; kUnreadable for one whose values have no schema, and of an arithmetic under which
// nobody else can compute the same bits. That graph and schema are those of the model the receipt says, and nothing
// here shows it: whoever has the model compares them.
Expected<Subject> subject_of(const verify::InferenceReceipt& receipt);

// What single nodes and values lead to. REQUIRES a subject of a receipt.
verify::JobRootParts parts_of(const Subject& subject);

// Outputs in the order of the receipt, and a trace where one was committed to.
struct InferenceClaim {
  std::vector<commit::Digest> outputs;
  std::optional<commit::Digest> trace;

  static InferenceClaim of(const verify::InferenceReceipt& receipt);
};

// kRejected unless it is a schema of the computation: begins with its inputs, and has nothing that an inference has
// not.
Status check_inference_schema(const std::vector<train::TraceEntry>& schema, const verify::Computation& computation);
// Why the roots of all values are none of this computation that end with what is claimed; "" where they may be.
// REQUIRES a schema that was checked.
std::string problem_of_inference(const std::vector<train::TraceEntry>& schema, const std::vector<commit::Digest>& roots,
                                 const verify::Computation& computation, const InferenceClaim& claim);

}  // namespace isobit::dispute
