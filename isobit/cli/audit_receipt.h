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

// Exit codes as of an audit of a run.
Expected<int> audit_receipt(const AuditReceiptOptions& options, const std::string& file, const std::string& platform,
                            const std::string& key_folder, const LimitOptions& limits, Console& console);

// The signature alone, and whose it is: --server-key, else whoever signed, which is said. kDisagreed where it is not
// genuine.
Expected<int> verify_receipt_file(const std::string& file, const std::string& server_key, Console& console);

}  // namespace isobit::cli
