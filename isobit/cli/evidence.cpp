#include "isobit/cli/evidence.h"

#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/cli/command.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"
#include "isobit/run/compare_runs.h"

namespace isobit::cli {

namespace {

using Json = nlohmann::ordered_json;

Json head_json(const verify::SignedHead& head) {
  return {{"leaves", head.tree.size}, {"root", commit::hex_of(head.tree.root)}};
}

// Why there is no evidence.
const char* nothing_found(const run::RunComparison& found) {
  if (found.common_leaves == std::min(found.a_leaves, found.b_leaves)) {
    return "one copy continues the other, or they are the same";
  }
  if (!found.heads_contradict) return "the copies differ only in leaves that no head covers";
  return "two histories were signed, but not both by one trainer key that accepted the engagement: histories of two "
         "trainers convict nobody";
}

// The client and the terms first, where they were named: evidence of somebody else's run is not what was asked for.
Status check_evidence(const verify::ForkEvidence& fork, const Trusted& trusted) {
  if (trusted.client) ISOBIT_RETURN_IF_ERROR(verify::verify_engagement(fork.engagement, *trusted.client));
  if (trusted.terms) ISOBIT_RETURN_IF_ERROR(verify::check_terms(fork.engagement.terms, *trusted.terms));
  return verify::verify_evidence(fork);
}

}  // namespace

nlohmann::ordered_json fork_json(const verify::ForkEvidence& fork) {
  const verify::EngagementTerms& terms = fork.engagement.terms;
  return {{"run_id", to_hex(terms.run_id)},
          {"job_root", commit::hex_of(terms.job_root)},
          {"client_key", commit::hex_of(terms.client_key)},
          {"signer", commit::hex_of(fork.newer.key)},
          {"older_head", head_json(fork.older)},
          {"newer_head", head_json(fork.newer)},
          {"root_in_newer", commit::hex_of(fork.prefix_root)}};
}

void print_fork(const verify::ForkEvidence& fork, Console& console) {
  const verify::EngagementTerms& terms = fork.engagement.terms;
  console.line(text_of("run id        ", to_hex(terms.run_id)));
  console.line(text_of("job root      ", commit::hex_of(terms.job_root)));
  console.line(text_of("client key    ", commit::hex_of(terms.client_key)));
  console.line(text_of("signed by     ", commit::hex_of(fork.newer.key), "   (both heads)"));
  console.line(text_of("older head    ", fork.older.tree.size, " leaves, root ", commit::hex_of(fork.older.tree.root)));
  console.line(text_of("newer head    ", fork.newer.tree.size, " leaves, root ", commit::hex_of(fork.newer.tree.root)));
  console.line(text_of("  had there   root ", commit::hex_of(fork.prefix_root), " at ", fork.older.tree.size,
                       " leaves, which is another one"));
}

void print_fork_file(const std::string& file, Console& console) {
  console.line(file.empty() ? std::string("              --out FILE writes it down for others to check")
                            : text_of("wrote         ", file, "   (check it: isobit verify ", file, ")"));
}

Expected<int> verify_two_runs(const TwoRuns& runs, Deadline& deadline, Console& console) {
  const std::string& out = runs.out;
  if (!out.empty()) ISOBIT_RETURN_IF_ERROR(check_output(out, false));
  ISOBIT_TRY(const Trusted named, trusted(runs.trust));
  const auto request = [&](const std::string& run) {
    run::OpenRequest open;
    open.run = run;
    open.client = named.client;
    open.terms = named.terms;
    open.limits = runs.limits;
    return open;
  };
  ISOBIT_TRY(const run::RunComparison found, run::compare_runs(request(runs.a), request(runs.b)));
  deadline.finish();
  note_unpinned(named.client.has_value(), console);
  Json document = {{"evidence", found.fork.has_value()},
                   {"common_leaves", found.common_leaves},
                   {"leaves", {found.a_leaves, found.b_leaves}},
                   {"heads_contradict", found.heads_contradict},
                   {"client_pinned", named.client.has_value()}};
  if (!found.fork) {
    console.document(json_text(document));
    console.line(text_of("evidence      none: ", nothing_found(found)));
    console.line(
        text_of("in common     ", found.common_leaves, " leaves of ", found.a_leaves, " and ", found.b_leaves));
    return kAgreed;
  }
  if (!out.empty()) ISOBIT_RETURN_IF_ERROR(create_file_durably(out, verify::encode(*found.fork)));
  document["fork"] = fork_json(*found.fork);
  if (!out.empty()) document["file"] = out;
  console.document(json_text(document));
  console.line(text_of("evidence      ", console.bad("two histories of one run were signed")));
  print_fork(*found.fork, console);
  console.line(text_of("in common     ", found.common_leaves, " leaves of ", found.a_leaves, " and ", found.b_leaves));
  print_fork_file(out, console);
  return kDisagreed;
}

Expected<int> verify_evidence_file(const std::string& path, const Bytes& bytes, const Trusted& trusted,
                                   Deadline& deadline, Console& console) {
  ISOBIT_TRY(const verify::ForkEvidence fork, verify::decode_evidence(bytes, path));
  const Status checked = check_evidence(fork, trusted);
  deadline.finish();
  if (!checked && checked.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(checked.error());
  Json document = {{"verdict", checked ? "accepted" : "rejected"}, {"reason", checked ? "" : checked.error().message}};
  if (checked) document["fork"] = fork_json(fork);
  console.document(json_text(document));
  console.line(text_of("verdict       ", checked ? console.good("accepted") : console.bad("rejected"),
                       " (evidence of two histories of one run)"));
  if (!checked) {
    console.line(text_of("reason        ", printable(checked.error().message)));
    return kDisagreed;
  }
  print_fork(fork, console);
  return kAgreed;
}

}  // namespace isobit::cli
