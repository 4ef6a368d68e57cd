// Keys of a person who trains and audits on one machine: made once, kept outside every run.
#pragma once

#include <functional>
#include <string>

#include "isobit/base/file.h"
#include "isobit/commit/signature.h"

namespace isobit::run {

struct LocalKeys {
  commit::SecretKey client;
  commit::SecretKey trainer;
  bool created = false;  // by this call
};

// $ISOBIT_HOME, else $XDG_CONFIG_HOME/isobit, else $HOME/.config/isobit, as given by `environment` (name -> value, ""
// when unset).
fs::path key_folder(const std::function<std::string(const char*)>& environment);

// client.key, client.pub, trainer.key, trainer.pub of that folder; makes what is missing.
Expected<LocalKeys> local_keys(const fs::path& folder);

// client.pub of that folder; kUnreadable with what to do when it is not there.
Expected<commit::PublicKey> pinned_client(const fs::path& folder);

// 16 bytes of the operating system's randomness.
Expected<commit::RunId> random_run_id();

}  // namespace isobit::run
