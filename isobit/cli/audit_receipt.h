// 'isobit audit RECEIPT' and 'isobit verify RECEIPT': an inference run again, and what was signed of it.
#pragma once

#include <string>
#include <vector>

#include "isobit/cli/limits.h"
#include "isobit/cli/model_inputs.h"
#include "isobit/cli/receipt.h"

namespace isobit::cli {

struct AuditReceiptOptions {
  std::string model, server_key, challenge, arithmetic;
  std::vector<std::string> inputs, dims, outputs;
  bool any() const {
    return !model.empty() || !server_key.empty() || !challenge.empty() || !arithmetic.empty() || !inputs.empty() ||
           !dims.empty() || !outputs.empty();
  }
};
void add_audit_receipt_options(Command& command, AuditReceiptOptions& options);

struct WhichReceipt {
  std::string file, platform, key_folder;
};
// Exit codes as of an audit of a run.
Expected<int> audit_receipt(const AuditReceiptOptions& options, const WhichReceipt& which, const LimitOptions& limits,
                            Console& console);

struct ReceiptSpotOptions {
  uint64_t draws = 0;
  Bytes seed;
  std::string server_secret, cheat;  // of who answers here
  std::string through;               // the folder of a server on another machine; empty: see spot_receipt
  std::string out;                   // where to write what proves a finding, unless empty
};
// Elements against what the server shows of them, instead of a run of the model: the auditor reads model and inputs to
// compare what they are, and computes nothing but the elements. Without a folder to ask through, the server's side runs
// the same model, in a process of its own.
Expected<int> spot_receipt(const AuditReceiptOptions& options, const WhichReceipt& which,
                           const ReceiptSpotOptions& spot, const LimitOptions& limits, Console& console);

// The secret key of a server: that of the file, if one is named, else one's own.
Expected<commit::SecretKey> server_secret(const std::string& file, const std::string& key_folder);
// A request for the model and the inputs of these options.
Expected<lab::InferenceRequest> request_of(const AuditReceiptOptions& options, uint64_t max_memory);

// The signature alone, and whose it is: --server-key, else whoever signed, which is said. kDisagreed where it is not
// genuine.
Expected<int> verify_receipt_file(const std::string& file, const std::string& server_key, Console& console);

}  // namespace isobit::cli
