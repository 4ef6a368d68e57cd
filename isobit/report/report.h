// A report of what labs hold of one subject.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "isobit/lab/deviation/lab_set.h"
#include "isobit/lab/explain/causes.h"

namespace isobit::report {

// The report of a subject as a document (document.h). `causes`: what to look for them with; none: records alone.
// Errors: those of the labs and of find_causes; kUsage when the labs hold no run of it.
Expected<nlohmann::ordered_json> make_report(std::vector<lab::deviation::OpenLab>& labs,
                                             const lab::records::Subject& subject,
                                             const std::optional<lab::explain::CausesRequest>& causes = {});

}  // namespace isobit::report
