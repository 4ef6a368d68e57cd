#include "isobit/dispute/inference.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::dispute {

using Entry = train::TraceEntry;

bool is_checkable(const platform::Arithmetic& a) {
  return a.promises && !a.rounds && !a.logs && a.computes_in == DType::kFloat32;
}

Expected<Subject> subject_of(const verify::InferenceReceipt& receipt) {
  ISOBIT_RETURN_IF_ERROR(verify::verify_receipt(receipt));
  if (!receipt.of.schema) {
    return unreadable(
        "the receipt's values have no schema, so that none of them can be shown alone: shapes follow from data, a node "
        "has graphs within it, or an output is a constant");
  }
  ISOBIT_TRY(const platform::Arithmetic* arithmetic, platform::named_arithmetic(receipt.of.arithmetic));
  if (!is_checkable(*arithmetic)) {
    return unreadable(text_of("the receipt is of ", arithmetic->name, ", expected ordered-1 or correct-1"));
  }
  Subject subject{};
  subject.engagement.terms.job_root = receipt.of.digest();
  subject.engagement.terms.run_id = receipt.id();
  subject.engagement.terms.trainer_keys = {receipt.server};
  subject.engagement.trainer_key = receipt.server;
  subject.rules.steps = 1;
  subject.rules.commit_every = 1;
  subject.arithmetic = *arithmetic;
  subject.receipt = receipt;
  return subject;
}

verify::JobRootParts parts_of(const Subject& subject) {
  verify::JobRootParts parts;
  parts.step_graph = subject.receipt->of.graph;
  parts.trace_schema = subject.receipt->of.schema;
  return parts;
}

InferenceClaim InferenceClaim::of(const verify::InferenceReceipt& receipt) {
  InferenceClaim claim{{}, receipt.trace};
  for (const verify::ReceiptTensor& t : receipt.outputs) claim.outputs.push_back(t.root);
  return claim;
}

Status check_inference_schema(const std::vector<Entry>& schema, const verify::Computation& computation) {
  const size_t inputs = computation.inputs.size();
  for (size_t i = 0; i < schema.size(); ++i) {
    const Entry& e = schema[i];
    const bool made = (e.kind == Entry::Kind::kOutput || e.kind == Entry::Kind::kStatistic) && e.node >= 0;
    const bool fed = e.kind == Entry::Kind::kBatch && i < inputs && e.name == computation.inputs[i].name &&
                     e.dtype == computation.inputs[i].dtype && e.dims == computation.inputs[i].dims;
    if (i < inputs ? !fed : !made) {
      return rejected(text_of("entry ", i, " of the schema, '", e.name, "', is none of an inference of these inputs"));
    }
  }
  if (schema.size() < inputs) return rejected("the schema has fewer entries than the computation has inputs");
  return {};
}

std::string problem_of_inference(const std::vector<Entry>& schema, const std::vector<commit::Digest>& roots,
                                 const verify::Computation& computation, const InferenceClaim& claim) {
  if (roots.size() != schema.size()) {
    return text_of("its list has ", roots.size(), " values, expected ", schema.size());
  }
  for (size_t i = 0; i < computation.inputs.size(); ++i) {
    if (roots[i] != computation.inputs[i].root) {
      return text_of("its values do not begin with the input '", computation.inputs[i].name, "'");
    }
  }
  for (size_t o = 0; o < computation.outputs.size(); ++o) {
    const std::string& name = computation.outputs[o];
    const auto made = std::ranges::find_if(
        schema, [&](const Entry& e) { return e.kind != Entry::Kind::kStatistic && e.name == name; });
    if (made == schema.end()) return text_of("nothing makes the output '", name, "' that it claims");
    if (roots[static_cast<size_t>(made - schema.begin())] != claim.outputs[o]) {
      return text_of("its values do not end with the output '", name, "' that it claims");
    }
  }
  if (claim.trace && verify::inference_trace_root(computation, roots) != *claim.trace) {
    return "its values are not those of the trace that it claims";
  }
  return "";
}

}  // namespace isobit::dispute
