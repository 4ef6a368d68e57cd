// Whose engagement counts: the options with which audit, eval, export, unpack and their like name the client they
// trust.
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

// Whom a reader trusts and what it wants.
struct Trusted {
  std::optional<commit::PublicKey> client;
  std::optional<verify::EngagementTerms> terms;  // of --engagement: the run must have been made under these
};

// The client is that of --client-key, else of --engagement, else one's own; none where there is neither. A file that
// was named and cannot be read is an error, and so is an engagement that is not valid (kUnreadable). One of another
// client than the one that was named is kUsage. They are the reader's own, and say nothing of a run.
Expected<Trusted> trusted(const Trust& trust);

// The same where one of the options was given; nobody where none was, whatever one's own home has: for documents that
// anybody may check.
Expected<Trusted> trusted_if_named(const Trust& trust);

// The client, for commands that do nothing without one: an error that says where one's own key was looked for.
Expected<commit::PublicKey> require_client(const Trusted& trusted, const Trust& trust);

// The folder of one's own keys and registers; empty where there is none.
fs::path home_of(const Trust& trust);

// Prints a warning when no key was trusted.
void note_unpinned(bool client_pinned, Console& console);
// The same of a receipt's server.
void note_unpinned_server(bool server_pinned, Console& console);

}  // namespace isobit::cli
