#include "isobit/cli/dispute_connect.h"

#include "isobit/base/text.h"
#include "isobit/cli/dispute_report.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/own_files.h"
#include "isobit/run/job_file.h"
#include "isobit/run/keys.h"
#include "isobit/service/party_caller.h"
#include "isobit/service/referee.h"

namespace isobit::cli {
namespace {

using dispute::Party;

// A party of its own accord says which run it is for; nothing of that is believed but what is signed.
Expected<service::About> ask(const ConnectOptions& o, const service::Tls& tls, Party party) {
  const std::string& address = o.addresses[static_cast<size_t>(party)];
  service::PartyCaller caller(address, tls, std::chrono::seconds(20), [](const service::PartyCaller::Heard&) {});
  ISOBIT_TRY(service::About about, caller.about());
  if (about.party != party) {
    return usage_error(text_of("--connect ", address, ": serves the ", name_of(about.party), "'s side, and the ",
                               party == Party::kTrainer ? "first" : "second", " address is the ", name_of(party),
                               "'s"));
  }
  return about;
}

// From one's own copy; else the trainer's, whose signatures are checked.
Expected<verify::Engagement> engagement_of(const ConnectOptions& o, const Trust& trust, const service::Tls& tls) {
  ISOBIT_TRY(const Trusted named, trusted(trust));
  verify::Engagement engagement;
  if (!trust.engagement.empty()) {
    ISOBIT_TRY(const Bytes bytes, read_file(trust.engagement, verify::kMaxEngagementBytes));
    ISOBIT_TRY(engagement, verify::decode_engagement(bytes, trust.engagement));
  } else {
    ISOBIT_TRY(const service::About about, ask(o, tls, Party::kTrainer));
    engagement = about.engagement;
  }
  ISOBIT_RETURN_IF_ERROR(verify::verify_engagement(engagement, named.client.value_or(engagement.terms.client_key)));
  return engagement;
}

Expected<commit::PublicKey> challenger_of(const ConnectOptions& o, const service::Tls& tls,
                                          const verify::Engagement& engagement) {
  if (!o.challenger.empty()) return commit::read_public_key(o.challenger);
  ISOBIT_TRY(const service::About about, ask(o, tls, Party::kChallenger));
  if (about.engagement.terms != engagement.terms) {
    return usage_error(text_of("--connect ", o.addresses[1], ": is in doubt about another run than the trainer's"));
  }
  if (about.challenger_keys.size() == 1) return about.challenger_keys.front();
  return usage_error(text_of("--connect ", o.addresses[1], ": has ", about.challenger_keys.size(),
                             " keys, each of a game; name the one of this game with --challenger FILE"));
}

Status check(const ConnectOptions& o) {
  if (o.addresses.size() != 2) {
    return usage_error(text_of("--connect: ", o.addresses.size(),
                               " addresses were named, expected two, the trainer's and the challenger's"));
  }
  for (const auto& [option, value] : {std::pair("--certificate", &o.certificate),
                                      {"--key", &o.key},
                                      {"--authority", &o.authority},
                                      {"--job", &o.job}}) {
    if (value->empty()) return usage_error(text_of(option, ": is missing; --connect needs it"));
  }
  return {};
}

Expected<commit::SecretKey> referee_key(const ConnectOptions& o, const Trust& trust) {
  if (!o.referee_key.empty()) return commit::read_secret_key(o.referee_key);
  return run::existing_key(home_of(trust), "referee");
}

}  // namespace

Expected<int> connect_dispute(const ConnectOptions& o, const Trust& trust, const std::string& out, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check(o));
  const Interruptible interruptible;
  ISOBIT_TRY(const service::Tls tls, service::read_tls(o.certificate, o.key, o.authority));
  ISOBIT_TRY(const commit::SecretKey key, referee_key(o, trust));
  ISOBIT_TRY(const train::Job job, run::load_job(o.job, o.overrides, {}));
  ISOBIT_TRY(const verify::Engagement engagement, engagement_of(o, trust, tls));
  if (engagement.terms.referee_key != key.public_key()) {
    return usage_error(text_of("the engagement names ",
                               engagement.terms.referee_key ? hex_of(*engagement.terms.referee_key) : "no referee",
                               ", and your referee's key is ", hex_of(key.public_key())));
  }
  ISOBIT_TRY(dispute::Subject subject, dispute_subject(job, engagement));
  ISOBIT_TRY(const commit::PublicKey challenger, challenger_of(o, tls, engagement));
  ISOBIT_RETURN_IF_ERROR(dispute::Referee::check_challenger(challenger, engagement));
  service::RefereeRequest request{.subject = std::move(subject),
                                  .challenger = challenger,
                                  .key = key,
                                  .addresses = {o.addresses[0], o.addresses[1]},
                                  .tls = tls,
                                  .state = o.state,
                                  .stop = &interruptible.stop(),
                                  .progress = {},
                                  .trouble = {}};
  request.progress = [&](const dispute::Question& q) {
    console.progress(text_of("turn ", q.turn, ": ", asked_for(q)));
  };
  std::string last;  // what happens again and again is said once
  request.trouble = [&](const std::string& what) {
    if (what != last) console.note(what);
    last = what;
  };
  const auto result = service::run_referee(request);
  console.end_progress();
  if (!result) return tl::unexpected<Error>(result.error());
  if (!*result) {
    console.note(o.state.empty() ? "stopped; nothing was kept, since --state names no folder"
                                 : "stopped; the same command goes on");
    return kInterrupted;
  }
  const service::RefereeResult& r = **result;
  for (const Party party : {Party::kTrainer, Party::kChallenger}) {
    if (!r.was_told[static_cast<size_t>(party)]) {
      console.note(text_of("the ", name_of(party), " could not be told how it ended"));
    }
  }
  ISOBIT_RETURN_IF_ERROR(report_dispute({r.verdict, r.counts, r.turns, r.referee_seconds}, r.record, out, console));
  return exit_code_of(r.verdict);
}

}  // namespace isobit::cli
