// A report of what labs hold of one subject.
#pragma once

#include <nlohmann/json.hpp>

#include "isobit/lab/deviation/lab_set.h"
#include "isobit/lab/explain/causes.h"
#include "isobit/onnx/model.h"

namespace isobit::report {

struct Report {
  nlohmann::ordered_json document;  // document.h
  lab::deviation::Agreement agreement;
};

// The report of a subject. `causes`: what to look for them with; none: records alone. `model`: as of find_causes.
// Errors: those of the labs and of find_causes; kUsage when the labs hold no run of it.
Expected<Report> make_report(std::vector<lab::deviation::OpenLab>& labs, const lab::records::Subject& subject,
                             const std::optional<lab::explain::CausesRequest>& causes = {},
                             std::optional<onnx::Model> model = {});

}  // namespace isobit::report
