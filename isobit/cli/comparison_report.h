// A comparison of labs, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "isobit/cli/command.h"
#include "isobit/lab/deviation/lab_set.h"

namespace isobit::cli {

// `by`: the field of platforms over whose values classes are counted. `details`: the members of all classes however
// many subjects there are.
void print_comparison(const lab::deviation::LabComparison& comparison, const std::string& by, bool details,
                      const Console& console);
nlohmann::ordered_json comparison_json(const lab::deviation::LabComparison& comparison, const std::string& by);

// kAgreed, kDisagreed or, where there is nothing to compare, kInconclusive.
int exit_code_of(lab::deviation::Agreement agreement);

// What a platform has of a field by which classes are counted: one of its record, or the engine, which all have.
inline constexpr const char* kEngineField = "engine";
std::optional<std::string> value_of(const lab::records::PlatformRecord& platform, const std::string& field);

// How many classes the platforms of each value of the field have among them.
std::map<std::string, size_t> classes_by(const lab::deviation::Comparison& comparison, const std::string& field);

}  // namespace isobit::cli
