#include "isobit/verify/growing_audit.h"

#include <algorithm>

#include "isobit/verify/walk_internal.h"

namespace isobit::verify {

GrowingAudit::GrowingAudit(const Transcript& claimed, Replayer& replayer, const AuditOptions& options, uint64_t step)
    : claimed_(claimed),
      replayer_(replayer),
      options_(options),
      begins_(step),
      walk_(std::make_unique<Walk>(claimed_, options_)) {
  walk_->plan(options_.rules.steps);
  walk_->count_as_checked(step);
}

GrowingAudit::~GrowingAudit() = default;

Expected<bool> GrowingAudit::compare_next() {
  ISOBIT_CHECK(claimed_.size() > std::max(leaves_, begins_) && leaves_ <= options_.rules.steps);
  bool agrees = leaves_ > 0 || walk_->begins_the_job();
  if (!agrees) return false;
  if (leaves_ == 0) {
    ISOBIT_TRY(agrees, walk_->begin(replayer_, begins_));
    if (agrees) leaves_ = begins_;
  } else {
    ISOBIT_CHECK(walk_->position() + 1 == leaves_);  // nothing is passed over after an error
    ISOBIT_TRY(agrees, walk_->advance_to(leaves_));
  }
  if (agrees) ++leaves_;
  return agrees;
}

Expected<AuditVerdict> GrowingAudit::conclude() {
  bool agrees = walk_->claims_the_job();
  const uint64_t steps = options_.rules.steps;
  while (agrees && leaves_ <= steps) {
    ISOBIT_TRY(agrees, compare_next());
  }
  if (agrees) {
    ISOBIT_TRY(agrees, walk_->compare_final());
  }
  if (agrees) walk_->accept(true);
  return verdict();
}

AuditVerdict GrowingAudit::verdict() const { return walk_->verdict(); }

}  // namespace isobit::verify
