#include <nlohmann/json.hpp>

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/verdict_report.h"
#include "isobit/platform/platform.h"
#include "isobit/run/keys.h"
#include "isobit/run/open_run.h"
#include "isobit/run/static_checks.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string run, client_key, auditor_key, key_folder;
};

Expected<int> run(const Options& o, Console& console) {
  if (fs::is_regular_file(o.run)) return check_verdict(o.run, o.client_key, o.auditor_key, console);
  if (!o.auditor_key.empty()) return usage_error("verify: --auditor-key goes with the file of a verdict");
  commit::PublicKey client;
  if (o.client_key.empty()) {
    ISOBIT_TRY(const fs::path home, run::key_folder(o.key_folder, environment));
    ISOBIT_TRY(client, run::pinned_client(home));
  } else {
    ISOBIT_TRY(client, commit::read_public_key(o.client_key));
  }
  const auto opened = run::open_run({o.run, client, {}});
  if (!opened && opened.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(opened.error());
  const bundle::BundleReader* reader = opened ? &opened->reader : nullptr;
  if (reader != nullptr) ISOBIT_RETURN_IF_ERROR(reader->require_finished());
  std::string reason = opened ? "" : opened.error().message;
  if (reader != nullptr) {
    ThreadPool pool(platform::available_threads());
    if (const auto finding = run::static_finding(*reader, pool)) reason = finding->reason;
  }
  const bool good = reason.empty();
  console.document(
      nlohmann::ordered_json{{"verdict", good ? "accepted" : "rejected"}, {"replayed", false}, {"reason", reason}}.dump(
          2, ' ', false, nlohmann::json::error_handler_t::replace));
  console.line(
      text_of("verdict       ", good ? console.good("accepted") : console.bad("rejected"), " (nothing was replayed)"));
  if (!good) {
    console.line(text_of("reason        ", printable(reason)));
    return kDisagreed;
  }
  console.line(text_of("checked       engagement, ", reader->heads().size(), " signed heads, ",
                       reader->transcript().size(), " leaves, ", reader->checkpoints().size(),
                       " checkpoints, digests of ", reader->manifest()->files.size(), " files"));
  console.line("              'isobit audit' replays the run as well");
  return kAgreed;
}

}  // namespace

void add_verify(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add("verify", "check what was signed without replaying it: a run, or the verdict of an audit",
                            "  isobit verify digits.run\n"
                            "  isobit verify digits.verdict --auditor-key auditor.pub\n");
  c.positional("RUN|VERDICT", o->run, "folder of a run, or the file of a verdict");
  c.option("--client-key", "FILE", o->client_key,
           "public key of the client whose engagement counts (default: your own)");
  c.option("--auditor-key", "FILE", o->auditor_key, "public key of the auditor whose verdict counts");
  c.option("--keys", "FOLDER", o->key_folder, "folder of your own keys (default: $ISOBIT_HOME or ~/.config/isobit)");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
