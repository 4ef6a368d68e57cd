// One's own keys: made once, kept outside every run, in a folder that holds one's registers too (registers.h).
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "isobit/base/file.h"
#include "isobit/commit/signature.h"

namespace isobit::run {

// `named` unless it is empty, else $ISOBIT_HOME, else $XDG_CONFIG_HOME/isobit, else $HOME/.config/isobit, as given by
// `environment` (name -> value, "" when unset). kUsage, with what to set, when none of them is set or the latter two
// are not absolute: nothing is ever taken from the folder that a command happens to run in.
Expected<fs::path> key_folder(const std::string& named, const std::function<std::string(const char*)>& environment);

// The mode of a folder of keys and registers that is made.
inline constexpr mode_t kPrivateFolder = 0700;

struct OwnKey {
  commit::SecretKey key;
  bool created = false;  // by this call
};
// NAME.key and NAME.pub of that folder ("client", "trainer", "referee", "auditor", "server"); makes what is missing.
Expected<OwnKey> own_key(const fs::path& folder, const std::string& name);

// NAME.key of that folder; kUnreadable with what to do when it is not there.
Expected<commit::SecretKey> existing_key(const fs::path& folder, const std::string& name);

// client.pub of that folder; kUnreadable with what to do when it is not there.
Expected<commit::PublicKey> pinned_client(const fs::path& folder);

// 16 bytes of the operating system's randomness.
Expected<commit::RunId> random_run_id();

}  // namespace isobit::run
