#include "isobit/cli/trust.h"

#include "isobit/base/text.h"
#include "isobit/cli/own_files.h"
#include "isobit/run/keys.h"

namespace isobit::cli {

void add_trust_options(Command& command, Trust& trust) {
  command.option("--client-key", "FILE", trust.client_key,
                 "public key of the client whose engagement counts (default: your own, if you have one)");
  command.option(
      "--engagement", "FILE", trust.engagement,
      "the client's copy of the engagement, never the trainer's: its client key is trusted, its terms are wanted");
  command.option("--keys", "FOLDER", trust.key_folder, kKeysHelp);
}

Expected<Trusted> trusted(const Trust& trust) {
  Trusted out;
  if (!trust.client_key.empty()) {
    ISOBIT_TRY(out.client, commit::read_public_key(trust.client_key));
  }
  if (!trust.engagement.empty()) {
    ISOBIT_TRY(const Bytes bytes, read_file(trust.engagement, verify::kMaxEngagementBytes));
    ISOBIT_TRY(const verify::Engagement engagement, verify::decode_engagement(bytes, trust.engagement));
    const commit::PublicKey& client = engagement.terms.client_key;
    // One's own copy: what is wrong with it is no finding about anybody's run.
    if (const Status valid = verify::verify_engagement(engagement, client); !valid) {
      if (valid.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(valid.error());
      return unreadable(text_of(trust.engagement, ": ", valid.error().message,
                                "; this is your own copy: ask the client for it again"));
    }
    if (out.client && *out.client != client) {
      return usage_error(text_of("--client-key names another client than --engagement ", trust.engagement));
    }
    out.client = client;
    out.terms = engagement.terms;
  }
  if (out.client) return out;
  const auto folder = run::key_folder(trust.key_folder, environment);
  std::error_code error;
  // Nobody is trusted where there is no home, or no client's key in it.
  if (trust.key_folder.empty() && (!folder || !fs::exists(*folder / "client.pub", error))) return out;
  ISOBIT_TRY(out.client, run::pinned_client(*folder));
  return out;
}

Expected<Trusted> trusted_if_named(const Trust& trust) {
  const bool named = !trust.client_key.empty() || !trust.engagement.empty() || !trust.key_folder.empty();
  return named ? trusted(trust) : Trusted();
}

Expected<commit::PublicKey> require_client(const Trusted& trusted, const Trust& trust) {
  if (trusted.client) return *trusted.client;
  ISOBIT_TRY(const fs::path home, run::key_folder(trust.key_folder, environment));
  return run::pinned_client(home);
}

fs::path home_of(const Trust& trust) { return run::key_folder(trust.key_folder, environment).value_or(fs::path()); }

void note_unpinned(bool client_pinned, Console& console) {
  if (client_pinned) return;
  console.line(
      "client        signatures checked against the run's own keys: name the client that you trust with --client-key");
}

void note_unpinned_server(bool server_pinned, Console& console) {
  if (server_pinned) return;
  console.line("              whose key that is nobody has said: name the server's with --server-key");
}

}  // namespace isobit::cli
