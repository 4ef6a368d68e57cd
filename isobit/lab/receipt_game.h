// Spot checks of receipts and disputes about them, on this machine: the roles of isobit/dispute over models and inputs.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "isobit/dispute/spot_trainer.h"
#include "isobit/lab/inference_witness.h"
#include "isobit/run/dispute_run.h"

namespace isobit::lab {

// Who computes an inference again, and how.
struct ReceiptSide {
  verify::InferenceReceipt receipt;
  InferenceRequest request;  // its arithmetic is not looked at: the receipts say it
  platform::Platform platform;
  std::optional<commit::SecretKey> key;  // REQUIRES set: signs its answers
  runtime::Stage* stage = nullptr;       // of somebody who does not compute what the model says; not owned
};

// The server in a spot check of its receipt.
class ReceiptSpotSide {
 public:
  // Errors: those of InferenceWitness::open and dispute::subject_of. kUsage: the key is not the receipt's, or the
  // receipt is of another computation than this model and these inputs.
  static Expected<std::unique_ptr<ReceiptSpotSide>> open(const ReceiptSide& side);
  Expected<Bytes> answer(ByteView question) { return server_->answer(question); }

 private:
  ReceiptSpotSide() = default;
  dispute::Subject subject_{};
  verify::JobRootParts parts_;
  std::unique_ptr<InferenceWitness> witness_;
  std::optional<dispute::SpotTrainer> server_;
};

struct ReceiptDispute {
  ReceiptSide server, challenger;                          // the challenger's receipt says what it claims instead
  std::function<void(const dispute::Question&)> progress;  // before each turn
  std::function<double()> seconds;                         // a clock
};
// Down to the first value, and the first element of it, in which the two inferences differ. kUsage: the receipts are
// of different computations, or do not differ; a key that is not the server's. Errors as of a dispute about runs.
Expected<run::DisputeResult> dispute_receipts(const ReceiptDispute& request);

}  // namespace isobit::lab
