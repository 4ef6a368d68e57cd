// What writers and readers of the protocol share.
#pragma once

#include "isobit/base/text.h"
#include "isobit/lab/measure/json_fields.h"
#include "isobit/lab/measure/protocol.h"

namespace isobit::lab::measure {

inline constexpr int kDepth = 8;               // of JSON in JSON
inline constexpr uint64_t kMaxKept = 1 << 20;  // tensors of one answer

struct Silence {
  WorkerAnswer::Outcome outcome;
  const char* field;
};
inline constexpr Silence kSilences[] = {{WorkerAnswer::Outcome::kUnavailable, "unavailable"},
                                        {WorkerAnswer::Outcome::kRefused, "refused"},
                                        {WorkerAnswer::Outcome::kFailed, "failed"}};

inline Status check_version(const JsonFields& fields, const char* name) {
  ISOBIT_TRY(const uint64_t version, fields.count(name, UINT32_MAX));
  if (version != kProtocol) return fields.wrong(name, text_of(kProtocol, ", the one version there is"));
  return {};
}

}  // namespace isobit::lab::measure
