#include "isobit/cli/engagement_report.h"

#include "isobit/base/text.h"
#include "isobit/cli/moments.h"

namespace isobit::cli {
namespace {

using Json = nlohmann::ordered_json;

Json moment_json(uint64_t seconds) {
  if (seconds == 0) return nullptr;
  return {{"unix", seconds}, {"utc", utc_text(seconds)}};
}

Json availability_json(const verify::Availability& a) {
  return {{"kept_by", verify::name_of(a.by)}, {"until", moment_json(a.until)}};
}

std::string availability_text(const verify::Availability& a) {
  if (a.by == verify::Keeper::kNobody) return "kept by nobody";
  return text_of("kept by the ", verify::name_of(a.by), " until ", utc_text(a.until));
}

}  // namespace

Json terms_json(const verify::EngagementTerms& terms) {
  Json trainers = Json::array();
  for (const commit::PublicKey& key : terms.trainer_keys) trainers.push_back(commit::hex_of(key));
  return {{"protocol_version", terms.protocol_version},
          {"job_root", commit::hex_of(terms.job_root)},
          {"job_digest", commit::hex_of(terms.job_digest)},
          {"run_id", to_hex(terms.run_id)},
          {"client_key", commit::hex_of(terms.client_key)},
          {"trainer_keys", trainers},
          {"referee_key", terms.referee_key ? Json(commit::hex_of(*terms.referee_key)) : Json(nullptr)},
          {"response_seconds", terms.response_seconds},
          {"restart_seconds", terms.restart_seconds},
          {"message_bytes", terms.message_bytes},
          {"head_every", terms.head_every},
          {"accept_until", moment_json(terms.accept_until)},
          {"checkpoints", availability_json(terms.checkpoints)},
          {"salts", availability_json(terms.salts)}};
}

void print_terms(const verify::EngagementTerms& terms, Console& console) {
  const auto show = [&](const char* label, const std::string& value) { console.line(text_of(label, value)); };
  show("job root      ", commit::hex_of(terms.job_root));
  show("job digest    ", commit::hex_of(terms.job_digest));
  show("run id        ", to_hex(terms.run_id));
  show("client key    ", commit::hex_of(terms.client_key));
  for (const commit::PublicKey& key : terms.trainer_keys) show("trainer key   ", commit::hex_of(key));
  show("referee key   ", terms.referee_key ? commit::hex_of(*terms.referee_key) : "none");
  show("dispute       ", text_of("protocol ", terms.protocol_version, "; answers within ",
                                 duration_text(terms.response_seconds), ", ", duration_text(terms.restart_seconds),
                                 " after a restart; messages up to ", human_bytes(terms.message_bytes)));
  show("heads         ", terms.head_every == 1
                             ? std::string("one at every committed state")
                             : text_of("one at the first committed state in every ", terms.head_every, " steps"));
  show("accept until  ", terms.accept_until == 0 ? "no end" : utc_text(terms.accept_until));
  show("checkpoints   ", availability_text(terms.checkpoints));
  show("salts         ", availability_text(terms.salts));
}

Json identity_json(const run::JobIdentity& job) {
  return {{"job_root", commit::hex_of(job.job_root)},
          {"job_digest", commit::hex_of(job.job_digest)},
          {"dataset_root", commit::hex_of(job.dataset_root)},
          {"train_samples", job.train_count},
          {"test_samples", job.test_count},
          {"initial_state", commit::hex_of(job.initial_state)}};
}

void print_identity(const run::JobIdentity& job, Console& console) {
  console.line(text_of("dataset root  ", commit::hex_of(job.dataset_root), "   (", job.train_count, " samples, ",
                       job.test_count, " for tests)"));
  console.line(text_of("initial state ", commit::hex_of(job.initial_state)));
}

}  // namespace isobit::cli
