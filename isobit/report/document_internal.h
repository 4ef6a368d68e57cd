// What document.cpp and document_values.cpp share.
#pragma once

#include <nlohmann/json.hpp>

#include "isobit/report/document.h"

namespace isobit::report {

using Json = nlohmann::ordered_json;

// A name, cut to kMaxShownText, with everything in it plainly visible (isobit/base/printable.h).
std::string shown(const std::string& text);
// Whole sentences, names in them made visible, too.
Json sentences(const std::vector<std::string>& list);
// Places of platforms that the report shows.
Json shown(const std::vector<size_t>& platforms);

Json causes_of(const lab::explain::Explanation& explanation, const lab::explain::Causes& causes);
Json values_of(const lab::explain::Explanation& explanation);
Json graph_of(const lab::explain::Explanation& explanation, const Expected<Layout>& layout);

}  // namespace isobit::report
