// Receipts of inferences: made beside a run of a model, and audited by running it again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/commit/signature.h"
#include "isobit/lab/inference.h"
#include "isobit/run/step_tracer.h"
#include "isobit/verify/receipt.h"

namespace isobit::lab {

// A model made ready for its inputs, and what of it a receipt names before anything has run.
class ComputationReady {
 public:
  // kUsage for an arithmetic that promises no bits; else those of ReadyInference::prepare and of reading the files
  // again. kUnavailable where they changed meanwhile.
  static Expected<ComputationReady> prepare(const InferenceRequest& request, platform::Engine& engine);

  ReadyInference& ready() { return ready_; }
  const verify::Computation& computation() const { return computation_; }
  const train::StepGraph& step() const { return *step_; }
  // Empty where the values have no schema.
  const std::vector<train::TraceEntry>& schema() const { return schema_; }

 private:
  explicit ComputationReady(ReadyInference ready) : ready_(std::move(ready)) {}
  ReadyInference ready_;
  verify::Computation computation_;
  std::unique_ptr<train::StepGraph> step_;
  std::vector<train::TraceEntry> schema_;
};

// What a receipt says beside the inference itself.
struct ReceiptTerms {
  Bytes challenge;  // of kMinChallenge to kMaxChallenge bytes
  std::string made_by;
  bool trace = false;  // whether all values are committed to
};

struct Receipted {
  verify::InferenceReceipt receipt;
  Inference inference;
};
// Runs it and signs. stage: of somebody who does not compute what the model says; null: none. Errors: those of infer;
// kUnreadable for a trace of values that have no schema.
Expected<Receipted> infer_with_receipt(const InferenceRequest& request, const ReceiptTerms& terms,
                                       const commit::SecretKey& key, platform::Engine& engine,
                                       runtime::Stage* stage = nullptr);

// Where a receipt and what was computed part, in the order in which that is looked for.
enum class ReceiptPart { kSignature, kServer, kChallenge, kArithmetic, kModel, kInput, kOutput, kTrace };
const char* name_of(ReceiptPart part);  // "signature", "server", ...

struct ReceiptFinding {
  ReceiptPart part = ReceiptPart::kSignature;
  std::string what;            // "output 'y'"
  std::string claimed, found;  // digests in hex, or names; may be empty
  std::string reason;          // one sentence for people
};

// What an auditor wants of a receipt before anything of the model is read. Nothing: it does not care.
struct ReceiptWanted {
  std::optional<commit::PublicKey> server;
  std::optional<Bytes> challenge;
  std::optional<std::string> arithmetic;
};
std::optional<ReceiptFinding> check_receipt(const verify::InferenceReceipt& receipt, const ReceiptWanted& wanted);

// The computation that the receipt is of against one's own: model, then inputs, by names and digests.
std::optional<ReceiptFinding> check_computation(const verify::InferenceReceipt& receipt,
                                                const verify::Computation& own);
// Outputs that somebody has been given, by name ("" is the first that no other one names), against the receipt.
std::optional<ReceiptFinding> check_given_outputs(const verify::InferenceReceipt& receipt,
                                                  const std::vector<NamedTensor>& given, ThreadPool& pool);

struct ReceiptAudit {
  std::optional<ReceiptFinding> finding;  // none: everything is as the receipt says
  bool ran = false;                       // whether the model was run; not where something else was found before
  double seconds = 0;                     // of that
};
// Runs it again (the request's arithmetic is not looked at: the receipt says it). REQUIRES a receipt that check_receipt
// takes. Errors as infer.
Expected<ReceiptAudit> audit_receipt(const verify::InferenceReceipt& receipt, InferenceRequest request,
                                     platform::Engine& engine);

}  // namespace isobit::lab
