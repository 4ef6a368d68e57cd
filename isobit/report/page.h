// The report as one HTML file: styles, scripts and data are in it, and nothing outside it is ever asked for.
//
// Names out of a lab reach the page as text only. In the data every '<', '>', '&', U+2028 and U+2029 is written as an
// escape of JSON; the scripts make elements and set their text, and read no markup. Should something slip through, the
// page's content security policy allows no script but its own, which it names by hash, and no request at all: pictures
// of trees are in the page, too, and a browser runs nothing that is in a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace isobit::report {

// A document of document_of.
std::string page_of(const nlohmann::ordered_json& document);

// Text for the content of an element or a quoted attribute.
std::string escaped_html(std::string_view text);
// One line of JSON that may stand in a script element.
std::string escaped_json(const nlohmann::ordered_json& document);

}  // namespace isobit::report
