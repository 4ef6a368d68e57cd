// A referee on a network: runs dispute::RefereeNode by this machine's clock between two parties that it calls. No
// decisions of its own.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "isobit/base/file.h"
#include "isobit/dispute/referee_node.h"
#include "isobit/service/tls.h"

namespace isobit::service {

struct RefereeRequest {
  dispute::Subject subject;
  commit::PublicKey challenger;
  commit::SecretKey key;                 // the engaged referee's
  std::array<std::string, 2> addresses;  // by dispute::Party
  Tls tls;
  fs::path state;  // a folder for what counted, so that the same call goes on where it was; none: nothing is kept
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const dispute::Question&)> progress;  // at each turn
  std::function<void(const std::string&)> trouble;         // a call or a save that failed, in words
};

struct RefereeResult {
  dispute::Verdict verdict;
  dispute::Record record;
  dispute::Referee::Counts counts;
  uint64_t turns = 0;
  double referee_seconds = 0;         // that it computed
  std::array<bool, 2> was_told = {};  // how it ended, by dispute::Party
};

// How often an open question is asked again, and how long one call takes at most, under these terms.
uint64_t repeat_seconds(const verify::EngagementTerms& terms);
std::chrono::milliseconds call_time(const verify::EngagementTerms& terms);

// Until there is a verdict and both parties were told, or one could not be for a while. No result: it was stopped.
// REQUIRES Referee::check_challenger() and the key that the terms name. Errors: those of the folder of state.
Expected<std::optional<RefereeResult>> run_referee(const RefereeRequest& request);

}  // namespace isobit::service
