#include "isobit/cli/trust.h"

#include "isobit/base/text.h"
#include "isobit/cli/own_files.h"
#include "isobit/run/keys.h"

namespace isobit::cli {

void add_trust_options(Command& command, Trust& trust) {
  command.option("--client-key", "FILE", trust.client_key,
                 "public key of the client whose engagement counts (default: your own, if you have one)");
  command.option("--engagement", "FILE", trust.engagement,
                 "the client's copy of the engagement, never the trainer's: its client key is trusted");
  command.option("--keys", "FOLDER", trust.key_folder,
                 "folder of your own keys (default: $ISOBIT_HOME or ~/.config/isobit)");
}

Expected<std::optional<verify::EngagementTerms>> wanted_terms(const Trust& trust) {
  if (trust.engagement.empty()) return std::nullopt;
  ISOBIT_TRY(const Bytes bytes, read_file(trust.engagement, kMaxSmallFile));
  ISOBIT_TRY(const verify::Engagement engagement, verify::decode_engagement(bytes, trust.engagement));
  const commit::PublicKey& client = engagement.terms.client_key;
  ISOBIT_RETURN_IF_ERROR(verify::verify_engagement(engagement, client));
  if (trust.client_key.empty()) return engagement.terms;
  ISOBIT_TRY(const commit::PublicKey named, commit::read_public_key(trust.client_key));
  if (named == client) return engagement.terms;
  return usage_error(text_of("--client-key names another client than --engagement ", trust.engagement));
}

Expected<std::optional<commit::PublicKey>> trusted_client(const Trust& trust) {
  ISOBIT_TRY(const auto terms, wanted_terms(trust));
  if (terms) return terms->client_key;
  if (!trust.client_key.empty()) return commit::read_public_key(trust.client_key);
  const auto folder = run::key_folder(trust.key_folder, environment);
  std::error_code error;
  // Nobody is trusted where there is no home, or no client's key in it.
  if (trust.key_folder.empty() && (!folder || !fs::exists(*folder / "client.pub", error))) return std::nullopt;
  return run::pinned_client(*folder);
}

Expected<std::optional<commit::PublicKey>> named_client(const Trust& trust) {
  if (trust.client_key.empty() && trust.engagement.empty() && trust.key_folder.empty()) return std::nullopt;
  return trusted_client(trust);
}

fs::path home_of(const Trust& trust) { return run::key_folder(trust.key_folder, environment).value_or(fs::path()); }

void note_unpinned(bool client_pinned, Console& console) {
  if (client_pinned) return;
  console.line(
      "client        signatures checked against the run's own keys: name the client that you trust with --client-key");
}

}  // namespace isobit::cli
