// Values of traces as people and programs read them: `isobit open` and `isobit verify`.
#pragma once

#include <nlohmann/json.hpp>

#include "isobit/cli/console.h"
#include "isobit/verify/step_trace.h"

namespace isobit::cli {

// "output 0 of node 12", "statistic 1 of node 12", "state", "batch", "rate".
std::string place_of(const train::TraceEntry& entry);

// What an opening whose roots are these shows. The document has each element in decimal and by its bits.
void report_opening(const verify::ValueOpening& opening, const verify::ValueOpening::Roots& roots,
                    nlohmann::ordered_json& document, Console& console);

}  // namespace isobit::cli
