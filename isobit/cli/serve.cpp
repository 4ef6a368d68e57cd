#include <unistd.h>

#include <thread>

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/conduct.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/moments.h"
#include "isobit/cli/other_side.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"
#include "isobit/run/party_side.h"
#include "isobit/service/party_server.h"

namespace isobit::cli {
namespace {

struct Options {
  std::string run, listen, certificate, key, authority, as = "trainer", doubts, state, platform = "ordered", data,
                                                        trainer_key, cheat, grace = "30s";
  std::vector<std::string> challenger_keys, overrides;
  std::optional<uint64_t> connections, games, calls;
  Trust trust;
  LimitOptions limits;
};

Expected<std::vector<commit::SecretKey>> keys_of(const Options& o) {
  std::vector<commit::SecretKey> keys;
  if (o.as == "trainer") {
    ISOBIT_TRY(const commit::SecretKey key, trainer_key(o.trainer_key, home_of(o.trust)));
    keys.push_back(key);
    return keys;
  }
  for (const std::string& file : o.challenger_keys) {
    ISOBIT_TRY(const commit::SecretKey key, commit::read_secret_key(file));
    keys.push_back(key);
  }
  if (keys.empty()) {
    return usage_error(
        "--challenger-key: is missing; a game is that of one challenger's key, which 'isobit keygen --out NAME' makes");
  }
  if (keys.size() > service::kMaxChallengerKeys) {
    return usage_error(
        text_of("--challenger-key: ", keys.size(), " were named, at most ", service::kMaxChallengerKeys));
  }
  return keys;
}

Status check(const Options& o) {
  if (o.as != "trainer" && o.as != "challenger") {
    return usage_error(text_of("--as ", o.as, ": expected trainer or challenger"));
  }
  const bool is_trainer = o.as == "trainer";
  if (is_trainer && !o.doubts.empty()) return usage_error("--doubts: is of a challenger (--as challenger)");
  if (is_trainer && !o.challenger_keys.empty()) {
    return usage_error("--challenger-key: is of a challenger (--as challenger)");
  }
  if (!is_trainer && o.doubts.empty()) {
    return usage_error(
        "--doubts: is missing; a challenger names the trainer's run, or a folder with its files engagement, job.toml, "
        "transcript and heads");
  }
  if (!is_trainer && !o.trainer_key.empty()) return usage_error("--trainer-key: is of the trainer");
  for (const auto& [option, count] :
       {std::pair("--connections", o.connections), {"--games", o.games}, {"--calls", o.calls}}) {
    if (count && (*count < 1 || *count > 65536))
      return usage_error(text_of(option, " ", *count, ": expected 1 to 65536"));
  }
  return {};
}

Expected<std::unique_ptr<run::PartySide>> side_of(const Options& o, const commit::SecretKey& key) {
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  run::DisputeSide side;
  side.open.run = o.run;
  side.open.home = home_of(o.trust);
  side.open.overrides = with_data_path(o.overrides, o.data);
  ISOBIT_TRY(side.open.limits, limits_of(o.limits));
  ISOBIT_TRY(side.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(side.conduct, conduct_of("--cheat", o.cheat, o.run, side.open.overrides));
  if (o.as == "trainer") {
    side.open.client = named.client;
    side.open.terms = named.terms;
    side.key = key;
    return run::PartySide::trainer(side);
  }
  run::OpenRequest doubted;
  doubted.run = o.doubts;
  doubted.client = named.client;
  doubted.terms = named.terms;
  doubted.limits = side.open.limits;
  return run::PartySide::challenger(side, doubted);
}

Expected<fs::path> state_of(const Options& o) {
  if (!o.state.empty()) return fs::path(o.state);
  const fs::path home = home_of(o.trust);
  if (home.empty()) return usage_error("--state: is missing, and there is no folder of your own to keep games in");
  return home / "games";
}

service::EventLog::Fields counts_of(const service::Games::Counts& c, size_t connections) {
  return {{"answered", c.answered},     {"repeated", c.repeated},      {"refused", c.refused},
          {"ended", c.ended},           {"in_memory", c.in_memory},    {"waiting", c.waiting},
          {"connections", connections}, {"peak_memory", peak_memory()}};
}

Expected<int> run(const Options& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check(o));
  ISOBIT_TRY(const uint64_t grace, parse_duration("--grace", o.grace));
  const Interruptible interruptible;
  service::ServerSettings settings;
  settings.listen = o.listen;
  ISOBIT_TRY(settings.tls, service::read_tls(o.certificate, o.key, o.authority));
  settings.connections = o.connections.value_or(settings.connections);
  ISOBIT_TRY(const std::vector<commit::SecretKey> keys, keys_of(o));
  ISOBIT_TRY(const std::unique_ptr<run::PartySide> side, side_of(o, keys.front()));
  const verify::Engagement& engagement = side->subject().engagement;
  for (const commit::SecretKey& key : keys) {
    if (o.as == "challenger") ISOBIT_RETURN_IF_ERROR(dispute::Referee::check_challenger(key.public_key(), engagement));
  }
  ISOBIT_TRY(const fs::path state, state_of(o));
  ISOBIT_TRY(service::GameStore store,
             service::GameStore::open(state, engagement.terms.run_id, "answers", o.as + ".lock"));
  service::EventLog log(STDERR_FILENO);
  service::Games::Limits limits;
  limits.open = o.games.value_or(limits.open);
  limits.calls = o.calls.value_or(limits.calls);
  service::Games games(
      {side->party(), engagement, keys, [&](const commit::SecretKey& key) { return side->new_game(key); }},
      std::move(store), limits, log);
  service::About about{side->party(), engagement, {}};
  if (o.as == "challenger") {
    for (const commit::SecretKey& key : keys) about.challenger_keys.push_back(key.public_key());
  }
  log.event("started", {{"party", o.as},
                        {"run", o.run},
                        {"run_id", to_hex(engagement.terms.run_id)},
                        {"state", state.string()},
                        {"response_seconds", engagement.terms.response_seconds}});
  ISOBIT_TRY(const std::unique_ptr<service::PartyServer> server,
             service::PartyServer::start(settings, games, about, log));
  for (uint64_t ticks = 1; !interruptible.stop(); ++ticks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    server->tick();
    if (ticks % 300 == 0) log.event("counts", counts_of(games.counts(), server->connections()));
  }
  log.event("stopping", counts_of(games.counts(), server->connections()));
  server->drain();
  const bool done = games.stop(std::chrono::seconds(grace));
  server->stop();
  log.event("stopped", {{"finished", done}});
  console.document(json_text(counts_of(games.counts(), 0)));
  // What is being computed was promised to nobody: it is computed again when it is asked for again.
  if (!done) _exit(console.finish() ? kAgreed : kInconclusive);
  return kAgreed;
}

}  // namespace

void add_serve(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add(
      "serve", "answer in disputes over a network: a trainer's or a challenger's side",
      "  isobit serve digits.run --listen 0.0.0.0:7420\n"
      "      --certificate tls/trainer.crt --key tls/trainer.key --client-authority tls/authority.crt\n"
      "  isobit serve mine.run --as challenger --doubts theirs.run --challenger-key doubt.key --listen 0.0.0.0:7421\n"
      "      --certificate tls/challenger.crt --key tls/challenger.key --client-authority tls/authority.crt\n");
  c.positional("RUN", o->run, "the run that answers are computed from");
  c.option("--listen", "HOST:PORT", o->listen, "where to listen; port 0: any that is free", true);
  c.option("--certificate", "FILE", o->certificate, "this party's certificate for that host, in PEM", true);
  c.option("--key", "FILE", o->key, "its private key, in PEM", true);
  c.option("--client-authority", "FILE", o->authority, "whose certificates those who call must have, in PEM", true);
  c.option("--as", "PARTY", o->as, "trainer or challenger (default: trainer)");
  c.option("--doubts", "RUN", o->doubts,
           "of a challenger: the trainer's run, or its engagement, job, transcript and heads");
  c.option("--trainer-key", "FILE", o->trainer_key, "secret key of the run's trainer (default: your own)");
  c.list("--challenger-key", "FILE", o->challenger_keys, "secret key of one game of the challenger; may be repeated");
  c.option("--state", "FOLDER", o->state,
           "where answers are kept, so that games go on (default: games in your own folder)");
  c.option("--grace", "TIME", o->grace, "how long to finish an answer when stopped (default: 30s)");
  c.option("--connections", "N", o->connections, "at once; others wait (default: 64)");
  c.option("--games", "N", o->games, "that may be open (default: 1024)");
  c.option("--calls", "N", o->calls, "that may wait for answers (default: 64)");
  c.option("-p,--platform", "P", o->platform, "where to compute again (default: ordered)");
  c.option("--cheat", "KIND@STEP", o->cheat, "answer as the cheat that the run is ('isobit cheat')");
  c.option("--data", "PATH", o->data, "where your copy of the data lies, like --set data.path=PATH");
  c.list("--set", "T.KEY=VALUE", o->overrides, "where other files of the job lie; may be repeated");
  add_trust_options(c, o->trust);
  add_memory_option(c, o->limits);
  add_recompute_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
