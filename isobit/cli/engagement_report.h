// Offers and engagements as people and programs read them: what is signed, and by whom.
#pragma once

#include <nlohmann/json.hpp>

#include "isobit/cli/console.h"
#include "isobit/run/engagement.h"
#include "isobit/verify/engagement.h"

namespace isobit::cli {

nlohmann::ordered_json terms_json(const verify::EngagementTerms& terms);
void print_terms(const verify::EngagementTerms& terms, Console& console);

nlohmann::ordered_json identity_json(const run::JobIdentity& job);
// What two parties whose job roots differ compare.
void print_identity(const run::JobIdentity& job, Console& console);

}  // namespace isobit::cli
