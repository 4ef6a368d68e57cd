#include "isobit/run/engagement.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/job_root.h"
#include "isobit/run/keys.h"
#include "isobit/run/registers.h"

namespace isobit::run {
namespace {

Expected<JobIdentity> identity_of(const train::Job& job, const platform::Platform& platform, const Limits& limits) {
  platform::Engine engine(platform);
  ISOBIT_TRY(const Session session, open_session(job, engine, limits));
  return JobIdentity{job_digest(job),
                     session.commitment->root,
                     session.dataset->train_count(),
                     session.dataset->test_count(),
                     session.initial_state,
                     session.root};
}

std::string keys_text(const std::vector<commit::PublicKey>& keys) {
  std::string text;
  for (const commit::PublicKey& key : keys) text += text_of(text.empty() ? "" : ", ", commit::hex_of(key));
  return text;
}

bool names_key(const verify::EngagementTerms& terms, const commit::PublicKey& key) {
  return std::find(terms.trainer_keys.begin(), terms.trainer_keys.end(), key) != terms.trainer_keys.end();
}

// What speaks against the offer whatever the job is.
Expected<std::vector<OfferProblem>> problems_of_terms(const AcceptRequest& request) {
  const verify::EngagementTerms& terms = request.offer.terms;
  const commit::PublicKey& own = request.trainer->public_key();
  std::vector<OfferProblem> problems;
  if (request.client && *request.client != terms.client_key) {
    problems.push_back({"client_key", commit::hex_of(terms.client_key), commit::hex_of(*request.client),
                        "the offer is signed by another client than the one you insist on"});
  }
  if (!names_key(terms, own)) {
    problems.push_back({"trainer_keys", keys_text(terms.trainer_keys), commit::hex_of(own),
                        "the offer is made to another trainer's key"});
  }
  if (terms.accept_until != 0 && request.now > terms.accept_until) {
    problems.push_back({"accept_until", text_of(terms.accept_until), text_of(request.now),
                        "the offer has expired; ask the client for a new one"});
  }
  if (!request.home.empty()) {
    ISOBIT_TRY(const auto begun, find_begun(request.home, terms.run_id));
    if (begun) {
      problems.push_back({"run_id", to_hex(terms.run_id), begun->folder.string(),
                          "a run has begun under this run id; a run id stands for one run"});
    }
  }
  return problems;
}

}  // namespace

Expected<JobOffer> offer_job(const OfferRequest& request) {
  verify::EngagementTerms terms = request.terms;
  // What is wrong with the terms is said before anything is computed.
  ISOBIT_RETURN_IF_ERROR(verify::make_offer(terms, *request.client));
  ISOBIT_TRY(const JobIdentity job, identity_of(request.job, request.platform, request.limits));
  terms.job_root = job.job_root;
  terms.job_digest = job.job_digest;
  ISOBIT_TRY(terms.run_id, random_run_id());
  ISOBIT_TRY(const verify::Offer offer, verify::make_offer(terms, *request.client));
  if (!request.home.empty()) ISOBIT_RETURN_IF_ERROR(note_offered(request.home, terms.run_id, terms.job_root));
  return JobOffer{offer, job};
}

Expected<Acceptance> accept_offer(const AcceptRequest& request) {
  ISOBIT_RETURN_IF_ERROR(verify::verify_offer(request.offer));
  const verify::EngagementTerms& terms = request.offer.terms;
  Acceptance result;
  ISOBIT_TRY(result.problems, problems_of_terms(request));
  const commit::Digest digest = job_digest(request.job);
  if (digest != terms.job_digest) {
    result.problems.push_back({"job_digest", commit::hex_of(terms.job_digest), commit::hex_of(digest),
                               "the offer is for another job than your job file says, whatever the data are"});
    return result;
  }
  ISOBIT_TRY(result.job, identity_of(request.job, request.platform, request.limits));
  if (result.job->job_root != terms.job_root) {
    result.problems.push_back({"job_root", commit::hex_of(terms.job_root), commit::hex_of(result.job->job_root),
                               "the job is the same and its root is not: your data, their salt, or your version of "
                               "isobit are others than the client's"});
  }
  if (!result.problems.empty()) return result;
  ISOBIT_TRY(result.engagement, verify::countersign(request.offer, *request.trainer));
  return result;
}

Status check_trainable(const verify::Engagement& engagement, const train::Job& job, const commit::PublicKey& trainer,
                       const fs::path& home) {
  const verify::EngagementTerms& terms = engagement.terms;
  ISOBIT_RETURN_IF_ERROR(verify::verify_engagement(engagement, terms.client_key));
  // One's own signature is what shows that this client and these terms were accepted.
  if (engagement.trainer_key != trainer) {
    return usage_error(text_of("engagement: was accepted with the key ", commit::hex_of(engagement.trainer_key),
                               ", yours is ", commit::hex_of(trainer), "; accept the offer with your own key"));
  }
  const commit::Digest digest = job_digest(job);
  if (digest != terms.job_digest) {
    return rejected(text_of("engagement: field 'job_digest': found ", commit::hex_of(terms.job_digest),
                            ", your job has ", commit::hex_of(digest), "; another job was agreed on"));
  }
  if (home.empty()) return {};
  ISOBIT_TRY(const auto begun, find_begun(home, terms.run_id));
  if (!begun) return {};
  return usage_error(text_of("engagement: a run has begun under its run id ", to_hex(terms.run_id), " in ",
                             begun->folder.string(),
                             "; continue that one with --resume, or ask the client for a new "
                             "offer"));
}

}  // namespace isobit::run
