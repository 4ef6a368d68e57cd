
#include <algorithm>

#include "isobit/base/new_file.h"
#include "isobit/base/random.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"
#include "isobit/commit/signature.h"
#include "isobit/run/keys.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string out, salt, role, key_folder;
};

Expected<int> make_salt(const fs::path& path, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_output(path, false));
  Bytes salt(32);
  ISOBIT_RETURN_IF_ERROR(fill_random(salt));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(path, as_bytes(to_hex(salt) + "\n"), {.replace = false}));
  console.document(json_text(nlohmann::ordered_json{{"salt", path.string()}}));
  console.line(text_of("salt          ", path.string(), "   (keep it with the data; name it as data.salt in the job)"));
  return kAgreed;
}

// What the files of the pair start with.
Expected<std::string> name_of_keys(const Options& o) {
  if (o.role.empty()) return o.out;
  const std::vector<std::string> roles = {"client", "trainer", "referee", "auditor", "server"};
  if (std::find(roles.begin(), roles.end(), o.role) == roles.end()) {
    return usage_error(text_of("--role ", o.role, ": expected ", join_or(roles)));
  }
  ISOBIT_TRY(const fs::path home, run::key_folder(o.key_folder, environment));
  ISOBIT_RETURN_IF_ERROR(make_folder_durably(home, run::kPrivateFolder));
  return (home / o.role).string();
}

Expected<int> run(const Options& o, Console& console) {
  if (!o.out.empty() + !o.salt.empty() + !o.role.empty() != 1) {
    return usage_error(
        "keygen: give one of --role ROLE (keys in your own folder), --out NAME (a pair of keys anywhere) "
        "and --salt FILE");
  }
  if (o.role.empty() && !o.key_folder.empty()) return usage_error("keygen: --keys says where --role writes");
  if (!o.salt.empty()) return make_salt(o.salt, console);
  ISOBIT_TRY(const std::string name, name_of_keys(o));
  const fs::path secret = name + ".key", open = name + ".pub";
  for (const fs::path& path : {secret, open}) {
    // Also a link that leads nowhere: nothing may be half made when the second file is refused.
    if (fs::exists(fs::symlink_status(path)))
      return usage_error(text_of(path.string(), ": is there already; a key is never overwritten"));
    if (o.role.empty()) ISOBIT_RETURN_IF_ERROR(check_output(path, false));
  }
  ISOBIT_TRY(const commit::SecretKey key, commit::SecretKey::generate());
  ISOBIT_RETURN_IF_ERROR(commit::write_secret_key(secret, key));
  ISOBIT_RETURN_IF_ERROR(commit::write_public_key(open, key.public_key()));
  console.document(json_text(nlohmann::ordered_json{
      {"secret", secret.string()}, {"public", open.string()}, {"key", commit::hex_of(key.public_key())}}));
  console.line(text_of("secret        ", secret.string(), "   (readable by you alone; never give it away)"));
  console.line(text_of("public        ", open.string()));
  console.line(text_of("key           ", commit::hex_of(key.public_key())));
  return kAgreed;
}

}  // namespace

void add_keygen(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add(
      "keygen", "make a pair of Ed25519 keys, or a salt for private data",
      "  isobit keygen --role trainer\n  isobit keygen --out keys/referee\n  isobit keygen --salt mydata.salt\n");
  c.option("--role", "ROLE", o->role,
           "client, trainer, referee, auditor or server: write ROLE.key and ROLE.pub among your keys");
  c.option("--keys", "FOLDER", o->key_folder, kKeysHelp);
  c.option("-o,--out", "NAME", o->out, "write NAME.key and NAME.pub");
  c.option("--salt", "FILE", o->salt, "write 256 random bits that salt the hashes of a dataset's samples");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
