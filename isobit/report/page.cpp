#include "isobit/report/page.h"

#include <nlohmann/json.hpp>

#include "isobit/commit/hash.h"
#include "isobit/report/page_assets.h"

namespace isobit::report {
namespace {

std::string base64(ByteView bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < n ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string source_hash(const std::string& text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  return "'sha256-" + base64(commit::sha256({bytes, text.size()})) + "'";
}

std::string script() {
  std::string text = "'use strict';\n(() => {\n";
  for (const std::string_view part : kScripts) text += part;
  return text + "})();\n";
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

}  // namespace

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\0':
        out += "\xef\xbf\xbd";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escaped_json(const nlohmann::ordered_json& document) {
  std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // These characters stand in strings only, so that the escapes of strings may stand for them.
  text = replaced(std::move(text), "\xe2\x80\xa8", "\\u2028");
  text = replaced(std::move(text), "\xe2\x80\xa9", "\\u2029");
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

std::string page_of(const nlohmann::ordered_json& document) {
  // Through the dump, so that what is no UTF-8 is replaced here, too.
  const auto clean = nlohmann::ordered_json::parse(escaped_json(document));
  const std::string style(kStyle), code = script();
  const std::string model = escaped_html(clean["subject"]["model"].get<std::string>());
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; "
      "img-src data:; "
      "style-src " +
      source_hash(style) + "; script-src " + source_hash(code) +
      "\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Deviations of " +
      model + "</title>\n<style>" + style +
      "</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#operators\">Skip to the operators</a>\n"
      "<header>\n<h1>Deviations of <span dir=\"auto\">" +
      model +
      "</span></h1>\n</header>\n"
      "<main>\n<section id=\"answer\" aria-labelledby=\"answer-title\">\n<h2 id=\"answer-title\">The answer</h2>\n";
  for (const auto& sentence : clean["answer"]) page += "<p>" + escaped_html(sentence.get<std::string>()) + "</p>\n";
  for (const auto& sentence : clean["left_out"]) {
    page += "<p class=\"note\">" + escaped_html(sentence.get<std::string>()) + "</p>\n";
  }
  page +=
      "<noscript><p class=\"note\">Tables and charts need JavaScript, which this page brings along.</p></noscript>\n";
  page += "</section>\n</main>\n<script type=\"application/json\" id=\"data\">";
  page += escaped_json(document);
  page += "</script>\n<script>" + code + "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace isobit::report
