#include "isobit/run/keys.h"

#include "isobit/base/new_file.h"
#include "isobit/base/random.h"
#include "isobit/base/text.h"

namespace isobit::run {

Expected<fs::path> key_folder(const std::string& named, const std::function<std::string(const char*)>& environment) {
  if (!named.empty()) return fs::path(named);
  if (const std::string home = environment("ISOBIT_HOME"); !home.empty()) return fs::path(home);
  for (const auto& [name, below] : {std::pair{"XDG_CONFIG_HOME", "isobit"}, std::pair{"HOME", ".config/isobit"}}) {
    const std::string home = environment(name);
    if (home.empty()) continue;
    if (!fs::path(home).is_absolute()) {
      return usage_error(text_of("environment variable ", name, ": found '", home,
                                 "', expected an absolute path; set ISOBIT_HOME to the folder of your keys, or name it "
                                 "with --keys"));
    }
    return fs::path(home) / below;
  }
  return usage_error(
      "where are your keys? Neither ISOBIT_HOME nor XDG_CONFIG_HOME nor HOME is set: set ISOBIT_HOME to the folder of "
      "your keys, or name it with --keys");
}

Expected<OwnKey> own_key(const fs::path& folder, const std::string& name) {
  const fs::path secret = folder / (name + ".key"), open = folder / (name + ".pub");
  bool created = false;
  if (!fs::exists(secret)) {
    ISOBIT_RETURN_IF_ERROR(make_folder_durably(folder, kPrivateFolder));
    ISOBIT_TRY(const commit::SecretKey made, commit::SecretKey::generate());
    const Status written = commit::write_secret_key(secret, made);
    // Another process may have been faster: its key is ours as well.
    if (!written && !fs::exists(secret)) return tl::unexpected<Error>(written.error());
    created = written.has_value();
  }
  ISOBIT_TRY(commit::SecretKey key, commit::read_secret_key(secret));
  if (!fs::exists(open)) {
    const Status written = commit::write_public_key(open, key.public_key());
    if (!written && !fs::exists(open)) return tl::unexpected<Error>(written.error());
  }
  ISOBIT_TRY(const commit::PublicKey shown, commit::read_public_key(open));
  if (shown != key.public_key()) {
    return unreadable(
        text_of(open.string(), ": is not the public half of ", secret.string(), "; move one of the two away"));
  }
  return OwnKey{key, created};
}

Expected<commit::SecretKey> existing_key(const fs::path& folder, const std::string& name) {
  const fs::path secret = folder / (name + ".key");
  if (!fs::exists(secret)) {
    return unreadable(text_of(secret.string(), ": is missing; make it with 'isobit keygen --role ", name,
                              "', or name the folder that holds it with --keys"));
  }
  return commit::read_secret_key(secret);
}

Expected<commit::PublicKey> pinned_client(const fs::path& folder) {
  const fs::path path = folder / "client.pub";
  if (!fs::exists(path)) {
    return unreadable(text_of(
        path.string(), ": is missing. An audit trusts a client's key that the auditor has, never one from the run: ",
        "give it with --client-key FILE, or the client's copy of the engagement with --engagement FILE"));
  }
  return commit::read_public_key(path);
}

Expected<commit::RunId> random_run_id() {
  commit::RunId id{};
  ISOBIT_RETURN_IF_ERROR(fill_random(id));
  return id;
}

}  // namespace isobit::run
