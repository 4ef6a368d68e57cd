// The one rule by which a published decision is judged: from the exact value of the output alone, so that any two
// auditors whose platforms keep to the job's bound have the same opinion of one log, and a referee has it too.
//
// z is the exact value, r what it rounds to. A decision is *illegal* only if the value it publishes is the rounding of
// no point within the sound bound of z: no classical sum gives it, whatever the platform. Between the job's calibrated
// bound and the sound one it is taken and counted: a finding, no conviction. Where the calibrated bound exceeds half
// the spacing of the result (its terms cancel) or no addition can round, nothing is left to a log: r is the value.
#pragma once

#include "isobit/log/step_log.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {

// How far two platforms' results of one product may lie apart, in units of 2^-53 times the magnitude of the output.
// One platform's distance from z is half of it.
struct ErrorBounds {
  double divergence = 0;  // as the job says; at most `sound`
  double sound = 0;       // by proof: 2 gamma_(k+2)
};

enum class Standing {
  kDecided,      // by the exact value: there is no decision, and an honest trainer may have written none
  kCancels,      // likewise, because the terms cancel
  kMissing,      // likewise, although an honest trainer writes one: a finding
  kFollowed,     // a decision within the calibrated bound
  kSuperfluous,  // one that no honest trainer writes and that changes nothing: a finding
  kBeyond,       // one outside the calibrated bound and inside the sound one: a finding
  kForbidden,    // one that changes a value which no log decides
  kIllegal,
};

struct Ruling {
  Standing standing = Standing::kDecided;
  double value = 0;  // of the output; what was published where the standing is kForbidden or kIllegal
  bool taken() const { return standing != Standing::kForbidden && standing != Standing::kIllegal; }
};

// Whether the divergence, with the surplus of exact_width, exceeds half the spacing of rounded values at z: the value
// is r, and nothing is written down. Elsewhere a decision within the calibrated bound moves a value by one spacing at
// most. REQUIRES a finite z.
bool cancels(const kernels::rounding::ExactOutput& output, const ErrorBounds& bounds, int bits);

// Of an output with this entry of a sparse log, or without one where the auditor needs one. `block`: the output's.
// REQUIRES an entry whose value, if it has one, is a value of `bits` bits.
Ruling rule_on_entry(const kernels::rounding::ProductBlock& block, const kernels::rounding::ExactOutput& output,
                     const log::SparseEntry* entry, const ErrorBounds& bounds, int bits);

// The same for who has no block: whether no addition of the output's terms can round (OutputSum::adds_exactly).
Ruling rule_on_entry(bool adds_exactly, const kernels::rounding::ExactOutput& output, const log::SparseEntry* entry,
                     const ErrorBounds& bounds, int bits);

// The same of an ovt log whose decisions obey the bounds (RoundingRules::distance). Such a decision names a direction
// and no value, so it needs more room: nothing is left to it unless a near-tie is nearer to its boundary than to r.
bool cancels_for_decisions(const kernels::rounding::ExactOutput& output, const ErrorBounds& bounds, int bits);

// decision: 0 rounded down, 1 not written down, 2 rounded up.
Ruling rule_on_decision(const kernels::rounding::ProductBlock& block, const kernels::rounding::ExactOutput& output,
                        uint8_t decision, const ErrorBounds& bounds, int bits);

}  // namespace isobit::runtime
