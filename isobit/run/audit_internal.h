// What the audit of a finished run and that of one that is still training share.
#pragma once

#include <memory>
#include <optional>

#include "isobit/run/audit_run.h"
#include "isobit/run/bundle_replay.h"
#include "isobit/run/open_run.h"
#include "isobit/verify/growing_audit.h"

namespace isobit::run {

// A run as far as it was followed. The replay and the audit refer to the other members, whose contents change; so it
// stays where it is.
struct Followed {
  Followed(bundle::BundleReader opened, Session session_of_it)
      : reader(std::move(opened)), session(std::move(session_of_it)), last(reader.heads().back()) {}
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;
  platform::Repairs repairs() const {
    const platform::Repairs now = session.trainer->context().repairs();
    return {repaired_before.elements + now.elements, repaired_before.repaired + now.repaired};
  }
  // The counts of the log are in the tally after this.
  void end_replay() {
    audit.reset();
    patient.reset();
    replay.reset();
  }

  bundle::BundleReader reader;  // as it was looked at last
  Session session;
  ReplayTally tally;
  platform::Repairs repaired_before;  // by a replay that this one goes on from
  verify::SignedHead last;            // the largest that was seen
  std::unique_ptr<RunReplay> replay;
  std::unique_ptr<verify::Replayer> patient;  // around the replay
  std::unique_ptr<verify::GrowingAudit> audit;
};

// audit_run(); where the run was followed, its replay goes on instead of beginning. REQUIRES then a request without
// from_step and sample, and that nothing differed so far. Afterwards it cannot go on.
Expected<AuditSummary> finish_audit(const AuditRequest& request, platform::Engine& engine, Followed* followed);

OpenRequest open_request(const AuditRequest& request);
verify::AuditOptions audit_options(const AuditRequest& request, const Session& session);
// Of a run that was rejected for something else than its engagement.
std::optional<verify::EngagedNames> names_in_engagement(const AuditRequest& request);
// A rejection where the newest head of the run does not extend the one that was seen before, with evidence where one
// key signed both. None where it has fewer leaves: nothing can be said. REQUIRES a head in the run.
std::optional<verify::AuditVerdict> check_extends(const bundle::BundleReader& reader, const verify::SignedHead& seen,
                                                  std::optional<verify::ForkEvidence>& fork);
// The head that the register has of the run, by the key of its last head.
Expected<std::optional<verify::SignedHead>> seen_before(const AuditRequest& request,
                                                        const bundle::BundleReader& reader);
// Of a folder whose engagement is another one than before.
verify::AuditVerdict another_run();

}  // namespace isobit::run
