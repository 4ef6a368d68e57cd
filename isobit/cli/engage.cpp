#include "isobit/base/frame.h"
#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/engagement_report.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/moments.h"
#include "isobit/cli/own_files.h"
#include "isobit/run/engagement.h"
#include "isobit/run/job_file.h"
#include "isobit/run/keys.h"

namespace isobit::cli {

namespace {

using Json = nlohmann::ordered_json;

struct OfferOptions {
  std::string job, out, referee, key_folder, data, response = "10m", restart = "1h", within = "7d",
                                                   checkpoints = "trainer:90d", salts = "client:90d";
  std::vector<std::string> trainers, overrides;
  std::optional<uint64_t> message_bytes, head_every;
  LimitOptions limits;
};

// "trainer:90d" or "nobody".
Expected<verify::Availability> availability_of(const std::string& option, const std::string& text, uint64_t now) {
  const size_t colon = text.find(':');
  const std::string who = text.substr(0, colon);
  for (const verify::Keeper keeper : {verify::Keeper::kNobody, verify::Keeper::kTrainer, verify::Keeper::kClient}) {
    if (who != verify::name_of(keeper)) continue;
    if (keeper == verify::Keeper::kNobody && colon == std::string::npos) return verify::Availability{};
    if (keeper == verify::Keeper::kNobody || colon == std::string::npos) break;
    ISOBIT_TRY(const uint64_t seconds, parse_duration(option, text.substr(colon + 1)));
    return verify::Availability{keeper, now + seconds};
  }
  return usage_error(text_of(option, " ", text, ": expected trainer:TIME, client:TIME or nobody, like trainer:90d"));
}

Expected<verify::EngagementTerms> terms_of(const OfferOptions& o) {
  const uint64_t now = seconds_since_1970();
  verify::EngagementTerms terms;
  for (const std::string& file : o.trainers) {
    ISOBIT_TRY(const commit::PublicKey key, commit::read_public_key(file));
    terms.trainer_keys.push_back(key);
  }
  if (!o.referee.empty()) {
    ISOBIT_TRY(terms.referee_key, commit::read_public_key(o.referee));
  }
  ISOBIT_TRY(terms.response_seconds, parse_duration("--response", o.response));
  ISOBIT_TRY(terms.restart_seconds, parse_duration("--restart", o.restart));
  terms.message_bytes = o.message_bytes.value_or(terms.message_bytes);
  terms.head_every = o.head_every.value_or(terms.head_every);
  ISOBIT_TRY(const uint64_t within, parse_duration("--accept-within", o.within));
  terms.accept_until = within == 0 ? 0 : now + within;
  ISOBIT_TRY(terms.checkpoints, availability_of("--checkpoints", o.checkpoints, now));
  ISOBIT_TRY(terms.salts, availability_of("--salts", o.salts, now));
  return terms;
}

Expected<int> offer(const OfferOptions& o, Console& console) {
  if (o.trainers.empty()) return usage_error("engage offer: name the trainer's public key with --trainer FILE");
  ISOBIT_RETURN_IF_ERROR(check_output(o.out, false));
  run::OfferRequest request;
  ISOBIT_TRY(request.limits, limits_of(o.limits));
  ISOBIT_TRY(request.terms, terms_of(o));
  ISOBIT_TRY(request.home, run::key_folder(o.key_folder, environment));
  ISOBIT_TRY(request.job, run::load_job(o.job, with_data_path(o.overrides, o.data), request.limits));
  ISOBIT_TRY(const run::OwnKey client, run::own_key(request.home, "client"));
  if (client.created) console.note(text_of("made a client's key in ", request.home.string(), " (kept for later)"));
  request.client = client.key;
  ISOBIT_TRY(request.platform, platform::parse_platform("ordered"));
  ISOBIT_TRY(const run::JobOffer made, run::offer_job(request));
  ISOBIT_RETURN_IF_ERROR(create_file_durably(o.out, verify::encode(made.offer)));
  Json document = {{"offer", o.out}, {"terms", terms_json(made.offer.terms)}, {"job", identity_json(made.job)}};
  console.document(json_text(document));
  print_terms(made.offer.terms, console);
  print_identity(made.job, console);
  console.line(text_of("offer         ", o.out, "   (for the trainer, with ", o.job, " and ",
                       (request.home / "client.pub").string(), ")"));
  return kAgreed;
}

struct AcceptOptions {
  std::string offer, job, out, client_key, key_folder, data;
  std::vector<std::string> overrides;
  LimitOptions limits;
};

void print_problems(const std::vector<run::OfferProblem>& problems, Console& console) {
  console.line(text_of("accepted      ", console.bad("no")));
  for (const run::OfferProblem& p : problems) {
    console.line(text_of("field         ", p.field));
    console.line(text_of("  offered     ", printable(p.offered)));
    console.line(text_of("  here        ", printable(p.found)));
    console.line(text_of("  reason      ", p.reason));
  }
}

// The keys of the offer that are not the trainer's that accepts it.
std::vector<std::string> other_keys(const verify::EngagementTerms& terms, const commit::PublicKey& own) {
  std::vector<std::string> others;
  for (const commit::PublicKey& key : terms.trainer_keys) {
    if (key != own) others.push_back(commit::hex_of(key));
  }
  return others;
}

void warn_of_other_keys(const std::vector<std::string>& keys, Console& console) {
  if (keys.empty()) return;
  std::string list;
  for (const std::string& key : keys) list += (list.empty() ? "" : ", ") + key;
  console.note(text_of("warning: the offer lists trainer keys that are not the one you accept with: ", list,
                       "; whoever holds one may sign heads and finished runs under this engagement too: unless they "
                       "are yours, ask the client for an offer without them before you send it"));
}

Expected<int> accept(const AcceptOptions& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_output(o.out, false));
  run::AcceptRequest request;
  ISOBIT_TRY(request.limits, limits_of(o.limits));
  ISOBIT_TRY(const Bytes bytes, read_file(o.offer, verify::kMaxEngagementBytes));
  ISOBIT_TRY(request.offer, verify::decode_offer(bytes, o.offer));
  ISOBIT_TRY(request.home, run::key_folder(o.key_folder, environment));
  ISOBIT_TRY(request.trainer, run::existing_key(request.home, "trainer"));
  if (!o.client_key.empty()) {
    ISOBIT_TRY(request.client, commit::read_public_key(o.client_key));
  }
  ISOBIT_TRY(request.job, run::load_job(o.job, with_data_path(o.overrides, o.data), request.limits));
  ISOBIT_TRY(request.platform, platform::parse_platform("ordered"));
  request.now = seconds_since_1970();
  ISOBIT_TRY(const run::Acceptance result, run::accept_offer(request));
  Json problems = Json::array();
  for (const run::OfferProblem& p : result.problems) {
    problems.push_back({{"field", p.field}, {"offered", p.offered}, {"found", p.found}, {"reason", p.reason}});
  }
  if (result.engagement) ISOBIT_RETURN_IF_ERROR(create_file_durably(o.out, verify::encode(*result.engagement)));
  const auto others = other_keys(request.offer.terms, request.trainer->public_key());
  const Json document = {{"accepted", result.engagement.has_value()},
                         {"problems", problems},
                         {"other_trainer_keys", others},
                         {"terms", terms_json(request.offer.terms)},
                         {"job", result.job ? identity_json(*result.job) : Json(nullptr)},
                         {"engagement", result.engagement ? Json(o.out) : Json(nullptr)}};
  console.document(json_text(document));
  print_terms(request.offer.terms, console);
  if (result.job) print_identity(*result.job, console);
  if (!result.engagement) {
    print_problems(result.problems, console);
    return kDisagreed;
  }
  warn_of_other_keys(others, console);
  if (!request.client) {
    console.note(
        "the client key above is whoever signed the offer: compare it with the client's own, or give that with "
        "--client-key");
  }
  console.line(text_of("engagement    ", o.out, "   (send it to the client; then: isobit train ", o.job,
                       " --engagement ", o.out, ")"));
  return kAgreed;
}

// Whichever of the two it is.
struct Shown {
  verify::EngagementTerms terms;
  std::optional<commit::PublicKey> accepted_by;
  Status valid;
};

Expected<Shown> read_either(const std::string& file) {
  ISOBIT_TRY(const Bytes bytes, read_file(file, verify::kMaxEngagementBytes));
  if (has_tag(bytes, verify::kEngagementTag)) {
    ISOBIT_TRY(const verify::Engagement e, verify::decode_engagement(bytes, file));
    return Shown{e.terms, e.trainer_key, verify::verify_engagement(e, e.terms.client_key)};
  }
  if (!has_tag(bytes, verify::kOfferTag)) return unreadable(file + ": is neither an offer nor an engagement");
  ISOBIT_TRY(const verify::Offer offer, verify::decode_offer(bytes, file));
  return Shown{offer.terms, std::nullopt, verify::verify_offer(offer)};
}

Expected<int> show(const std::string& file, Console& console) {
  ISOBIT_TRY(const Shown s, read_either(file));
  const bool expired = s.terms.accept_until != 0 && seconds_since_1970() > s.terms.accept_until;
  const Json document = {{"kind", s.accepted_by ? "engagement" : "offer"},
                         {"valid", s.valid.has_value()},
                         {"reason", s.valid ? "" : s.valid.error().message},
                         {"accepted_by", s.accepted_by ? Json(commit::hex_of(*s.accepted_by)) : Json(nullptr)},
                         {"expired", !s.accepted_by && expired},
                         {"terms", terms_json(s.terms)}};
  console.document(json_text(document));
  console.line(s.accepted_by ? "kind          engagement: an offer that a trainer has accepted"
                             : text_of("kind          offer: waits for a trainer", expired ? ", and has expired" : ""));
  print_terms(s.terms, console);
  if (s.accepted_by) console.line(text_of("accepted by   ", commit::hex_of(*s.accepted_by)));
  if (!s.valid) {
    console.line(text_of("signatures    ", console.bad("not valid"), ": ", s.valid.error().message));
    return kDisagreed;
  }
  console.line(text_of("signatures    ", console.good("valid"), ", by the client key",
                       s.accepted_by ? " and the accepting trainer key" : "",
                       " above; whose keys these are, only their owners can tell you"));
  return kAgreed;
}

void add_offer(Commands& commands) {
  auto o = std::make_shared<OfferOptions>();
  Command& c = commands.add("engage offer", "offer a job to a trainer: a client's half of an engagement",
                            "  isobit engage offer job.toml --trainer trainer.pub --out offer\n"
                            "  isobit engage offer job.toml --trainer trainer.pub --referee referee.pub --out offer\n"
                            "  isobit engage offer job.toml --trainer trainer.pub --accept-within 2d --head-every 100 "
                            "--out offer\n");
  c.positional("JOB.toml", o->job, "the job, with your own copy of the data");
  c.list("--trainer", "FILE", o->trainers, "public key that may speak for the trainer; may be repeated");
  c.option("--referee", "FILE", o->referee, "public key of who settles a dispute (default: nobody)");
  c.option("-o,--out", "OFFER", o->out, "file to write", true);
  c.option("--accept-within", "TIME", o->within, "how long the offer stands; 0: without end (default: 7d)");
  c.option("--response", "TIME", o->response, "time to answer in a dispute, at most 30d (default: 10m)");
  c.option("--restart", "TIME", o->restart, "that time after an announced restart, at most 30d (default: 1h)");
  c.option("--message-bytes", "N", o->message_bytes,
           "longest message of a dispute, 786432 to 1048576 (default: 1048576)");
  c.option("--head-every", "STEPS", o->head_every,
           "sign a head at the first committed state in every so many steps (default: 1, at every committed state)");
  c.option("--checkpoints", "WHO:TIME", o->checkpoints,
           "who keeps checkpoints for how long: trainer:TIME, client:TIME or nobody (default: trainer:90d)");
  c.option("--salts", "WHO:TIME", o->salts, "the same for the salts of the samples (default: client:90d)");
  c.option("--data", "PATH", o->data, "where your copy of the data lies, like --set data.path=PATH");
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  c.option("--keys", "FOLDER", o->key_folder, kKeysHelp);
  add_memory_option(c, o->limits);
  c.action([o](Console& console) { return offer(*o, console); });
}

void add_accept(Commands& commands) {
  auto o = std::make_shared<AcceptOptions>();
  Command& c =
      commands.add("engage accept", "accept an offer: compute its job root anew and sign",
                   "  isobit engage accept offer --job job.toml --out engagement\n"
                   "  isobit engage accept offer --job job.toml --data /my/mnist --client-key client.pub --out "
                   "engagement\n");
  c.positional("OFFER", o->offer, "the client's offer");
  c.option("--job", "JOB.toml", o->job, "the job, with your own copy of the data", true);
  c.option("-o,--out", "ENGAGEMENT", o->out, "file to write", true);
  c.option("--client-key", "FILE", o->client_key, "accept offers of this client only");
  c.option("--data", "PATH", o->data, "where your copy of the data lies, like --set data.path=PATH");
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  c.option("--keys", "FOLDER", o->key_folder, kKeysHelp);
  add_memory_option(c, o->limits);
  c.action([o](Console& console) { return accept(*o, console); });
}

void add_show(Commands& commands) {
  auto file = std::make_shared<std::string>();
  Command& c = commands.add("engage show", "show an offer or an engagement: what is signed, and by whom",
                            "  isobit engage show offer\n  isobit engage show digits.run/engagement --json\n");
  c.positional("FILE", *file, "an offer or an engagement");
  c.action([file](Console& console) { return show(*file, console); });
}

}  // namespace

void add_engage(Commands& commands) {
  add_offer(commands);
  add_accept(commands);
  add_show(commands);
}

}  // namespace isobit::cli
