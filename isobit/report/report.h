// A report of what labs hold of one subject.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "isobit/lab/explain/labs.h"

namespace isobit::report {

// The report of a subject as a document (document.h). Errors: those of the labs; kUsage when they hold no run of it.
Expected<nlohmann::ordered_json> make_report(lab::explain::Labs& labs, const lab::records::Subject& subject);

}  // namespace isobit::report
