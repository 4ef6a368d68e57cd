// Whose engagement counts: the options with which eval, export, unpack and their like name the client they trust.
#pragma once

#include <optional>
#include <string>

#include "isobit/base/file.h"
#include "isobit/cli/command.h"
#include "isobit/commit/signature.h"
#include "isobit/verify/engagement.h"

namespace isobit::cli {

struct Trust {
  std::string client_key, engagement, key_folder;
};

// --client-key, --engagement and --keys.
void add_trust_options(Command& command, Trust& trust);

// The key of --client-key, else that of --engagement, else one's own; none where there is neither. A file that was
// named and cannot be read is an error, as is an engagement that is not valid.
Expected<std::optional<commit::PublicKey>> trusted_client(const Trust& trust);

// The terms of --engagement, which the run must have been made under; none without. As trusted_client, and kUsage when
// --client-key names another client than the engagement.
Expected<std::optional<verify::EngagementTerms>> wanted_terms(const Trust& trust);

// The same as trusted_client where one of the options was given; none where none was, whatever one's own home has: for
// documents that anybody may check.
Expected<std::optional<commit::PublicKey>> named_client(const Trust& trust);

// The folder of one's own keys and registers; empty where there is none.
fs::path home_of(const Trust& trust);

// Says it plainly where nobody's key was trusted.
void note_unpinned(bool client_pinned, Console& console);

}  // namespace isobit::cli
