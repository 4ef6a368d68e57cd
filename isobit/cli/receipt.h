// What 'isobit run --receipt' writes, and how a receipt is told.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "isobit/cli/command.h"
#include "isobit/lab/receipt.h"

namespace isobit::cli {

struct ReceiptOptions {
  std::string file, key, challenge, key_folder;
  bool trace = false;
};
void add_receipt_options(Command& command, ReceiptOptions& options);

// All that is needed to write one but the inference.
struct ReceiptWriter {
  lab::ReceiptTerms terms;
  commit::SecretKey key;
};
// Nothing where no receipt is asked for. The key is that of --key, else one's own server's, made where it is missing;
// the challenge that of --challenge, else drawn. kUsage where options of a receipt stand without one, or something is
// in its way.
Expected<std::optional<ReceiptWriter>> receipt_writer(const ReceiptOptions& options, const std::string& arithmetic,
                                                      Console& console);

// --challenge as bytes: hex of kMinChallenge to kMaxChallenge of them.
Expected<Bytes> challenge_of(const std::string& hex);

// Whether there is a file that begins as a receipt does.
bool is_receipt_file(const fs::path& path);
Expected<verify::InferenceReceipt> read_receipt(const fs::path& path);

nlohmann::ordered_json receipt_json(const verify::InferenceReceipt& receipt, const std::string& file);
void print_receipt(const verify::InferenceReceipt& receipt, const std::string& file, Console& console);

}  // namespace isobit::cli
