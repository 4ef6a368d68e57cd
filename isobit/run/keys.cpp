#include "isobit/run/keys.h"

#include <sys/random.h>

#include "isobit/base/text.h"

namespace isobit::run {

namespace {

Expected<commit::SecretKey> read_or_make(const fs::path& folder, const std::string& name, bool& created) {
  const fs::path secret = folder / (name + ".key"), open = folder / (name + ".pub");
  if (!fs::exists(secret)) {
    ISOBIT_RETURN_IF_ERROR(make_folder(folder));
    ISOBIT_TRY(const commit::SecretKey made, commit::SecretKey::generate());
    ISOBIT_RETURN_IF_ERROR(commit::write_secret_key(secret, made));
    created = true;
  }
  ISOBIT_TRY(commit::SecretKey key, commit::read_secret_key(secret));
  if (!fs::exists(open)) {
    ISOBIT_RETURN_IF_ERROR(commit::write_public_key(open, key.public_key()));
  }
  return key;
}

}  // namespace

fs::path key_folder(const std::function<std::string(const char*)>& environment) {
  if (const std::string home = environment("ISOBIT_HOME"); !home.empty()) return home;
  if (const std::string config = environment("XDG_CONFIG_HOME"); !config.empty()) return fs::path(config) / "isobit";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".config" / "isobit";
  return ".isobit";
}

Expected<LocalKeys> local_keys(const fs::path& folder) {
  bool created = false;
  ISOBIT_TRY(commit::SecretKey client, read_or_make(folder, "client", created));
  ISOBIT_TRY(commit::SecretKey trainer, read_or_make(folder, "trainer", created));
  return LocalKeys{client, trainer, created};
}

Expected<commit::PublicKey> pinned_client(const fs::path& folder) {
  const fs::path path = folder / "client.pub";
  if (!fs::exists(path)) {
    return unreadable(text_of(
        path.string(), ": is missing. An audit trusts a client's key that the auditor has, never one from the run: ",
        "give it with --client-key FILE"));
  }
  return commit::read_public_key(path);
}

Expected<commit::RunId> random_run_id() {
  commit::RunId id{};
  if (getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
    return unavailable("the operating system gives no random bytes");
  }
  return id;
}

}  // namespace isobit::run
