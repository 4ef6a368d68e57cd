#include "isobit/lab/receipt_game.h"

#include "isobit/base/text.h"
#include "isobit/dispute/inference.h"

namespace isobit::lab {
namespace {

Status check_key(const ReceiptSide& side) {
  if (side.key->public_key() == side.receipt.server) return {};
  return usage_error(text_of("the key given is ", hex_of(side.key->public_key()), ", and the receipt's server is ",
                             hex_of(side.receipt.server)));
}

// Ready to answer about the computation that the receipt is of.
Expected<std::unique_ptr<InferenceWitness>> witness_of(const ReceiptSide& side, const verify::InferenceReceipt& of) {
  InferenceRequest request = side.request;
  request.arithmetic = of.of.arithmetic;
  ISOBIT_TRY(std::unique_ptr<InferenceWitness> witness, InferenceWitness::open(request, side.platform, side.stage));
  if (const auto finding = check_computation(of, witness->computation())) {
    return usage_error(
        text_of("the receipt is not of this model and these inputs: ", finding->what, ": ", finding->reason));
  }
  return witness;
}

}  // namespace

Expected<std::unique_ptr<ReceiptSpotSide>> ReceiptSpotSide::open(const ReceiptSide& side) {
  std::unique_ptr<ReceiptSpotSide> opened(new ReceiptSpotSide());
  ISOBIT_TRY(opened->subject_, dispute::subject_of(side.receipt));
  ISOBIT_RETURN_IF_ERROR(check_key(side));
  opened->parts_ = dispute::parts_of(opened->subject_);
  ISOBIT_TRY(opened->witness_, witness_of(side, side.receipt));
  opened->server_.emplace(opened->subject_, opened->parts_, *opened->witness_, std::nullopt, *side.key,
                          opened->witness_->engine().pool());
  return opened;
}

Expected<run::DisputeResult> dispute_receipts(const ReceiptDispute& request) {
  const ReceiptSide &a = request.server, &b = request.challenger;
  ISOBIT_TRY(const dispute::Subject subject, dispute::subject_of(a.receipt));
  ISOBIT_RETURN_IF_ERROR(verify::verify_receipt(b.receipt));
  if (const auto finding = check_computation(a.receipt, b.receipt.of)) {
    return usage_error(text_of("the receipts are of different computations, which no dispute settles: ", finding->what,
                               ": ", finding->reason));
  }
  const bool same_trace = !a.receipt.trace || !b.receipt.trace || a.receipt.trace == b.receipt.trace;
  if (a.receipt.outputs == b.receipt.outputs && same_trace) {
    return usage_error("the receipts say the same: there is nothing to dispute");
  }
  ISOBIT_RETURN_IF_ERROR(check_key(a));
  ISOBIT_RETURN_IF_ERROR(dispute::Referee::check_challenger(b.key->public_key(), subject.engagement));
  ISOBIT_TRY(const auto server, witness_of(a, a.receipt));
  ISOBIT_TRY(const auto challenger, witness_of(b, a.receipt));
  const verify::JobRootParts parts = dispute::parts_of(subject);
  dispute::Referee referee(subject, b.key->public_key());
  using dispute::Party;
  std::array<dispute::Player, 2> players = {
      dispute::Player(subject, parts, Party::kTrainer, *server, nullptr, *a.key, server->engine().pool()),
      dispute::Player(subject, parts, Party::kChallenger, *challenger, nullptr, *b.key, challenger->engine().pool())};
  return run::play_locally(referee, players, dispute::make_challenge(b.receipt.outputs), request.progress,
                           request.seconds);
}

}  // namespace isobit::lab
