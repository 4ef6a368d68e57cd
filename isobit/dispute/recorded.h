// What records of disputes (record.h) and of spot checks (spot_record.h) have in common: whose they are, and messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/receipt.h"

namespace isobit::dispute {

// What is agreed on by who is recorded: the engagement of a run, or in its place the receipt of an inference.
void write_agreement(ByteWriter& w, const verify::Engagement& engagement,
                     const std::optional<verify::InferenceReceipt>& receipt);
// of_receipt: as the record's tag says; the one of both that it is not stays as it was. `what` starts the messages.
Status read_agreement(ByteReader& r, bool of_receipt, const std::string& what, verify::Engagement& engagement,
                      std::optional<verify::InferenceReceipt>& receipt);

void write_messages(ByteWriter& w, const std::vector<Bytes>& messages);
Expected<std::vector<Bytes>> read_messages(ByteReader& r);

}  // namespace isobit::dispute
