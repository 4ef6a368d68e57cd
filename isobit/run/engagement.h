// How two parties agree on a run: the client offers, the trainer accepts. Each computes the job root from its own copy
// of the job and of the data; nobody's word is taken where it can be recomputed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/platform/platform.h"
#include "isobit/run/job_size.h"
#include "isobit/train/job.h"
#include "isobit/verify/engagement.h"

namespace isobit::run {

// What a job root is made of, for two parties whose roots differ to compare.
struct JobIdentity {
  commit::Digest job_digest{};
  commit::Digest dataset_root{};
  int64_t train_count = 0;
  int64_t test_count = 0;
  commit::Digest initial_state{};
  commit::Digest job_root{};
};

struct OfferRequest {
  train::Job job;
  // Trainers, referee, limits, cadence and availability; the rest is filled in.
  verify::EngagementTerms terms;
  std::optional<commit::SecretKey> client;  // REQUIRES set
  fs::path home;                            // of the client's register
  platform::Platform platform;              // to compute the initial state on; the result is the same on all
  Limits limits;                            // a job that takes more is kUnavailable, before any of it is taken
};

struct JobOffer {
  verify::Offer offer;
  JobIdentity job;
};

// Signs an offer under a fresh run id, which is in the client's register before this returns. kUsage for terms that are
// not valid; else as open_session.
Expected<JobOffer> offer_job(const OfferRequest& request);

struct AcceptRequest {
  verify::Offer offer;
  train::Job job;                            // the trainer's own copy, with its own data
  std::optional<commit::SecretKey> trainer;  // REQUIRES set
  std::optional<commit::PublicKey> client;   // the one that the trainer insists on
  fs::path home;                             // of the trainer's register
  uint64_t now = 0;                          // seconds since 1970, UTC
  platform::Platform platform;
  Limits limits;  // as in OfferRequest: the job is the client's
};

// A reason not to accept: a field of the offer, what it says, and what the trainer has.
struct OfferProblem {
  std::string field, offered, found;
  std::string reason;  // one sentence for people
};

struct Acceptance {
  std::optional<verify::Engagement> engagement;  // present iff there is no problem
  std::vector<OfferProblem> problems;
  std::optional<JobIdentity> job;  // the trainer's own; none when the job file itself is another one
};

// Looks at every field before it refuses. Errors: kRejected when the client's signature is not valid; else as
// open_session.
Expected<Acceptance> accept_offer(const AcceptRequest& request);

// That the job and the run id may be trained under the engagement, by whoever holds `trainer`, before any data are
// opened: kRejected when a signature is not valid or the job is another one, kUsage when the engagement was accepted
// with another key or a run has begun under its id.
Status check_trainable(const verify::Engagement& engagement, const train::Job& job, const commit::PublicKey& trainer,
                       const fs::path& home);

}  // namespace isobit::run
