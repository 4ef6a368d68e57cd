#include "isobit/cli/console.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "isobit/base/bytes.h"

namespace isobit::cli {

void Console::set_colour(Colour colour) {
  const bool terminal =
      ::isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  colour_ = colour == Colour::kAlways || (colour == Colour::kAuto && terminal);
}

namespace {

void put(std::FILE* file, std::string_view text, bool newline) {
  std::fwrite(text.data(), 1, text.size(), file);
  if (newline) std::fputc('\n', file);
  std::fflush(file);
}

}  // namespace

void Console::line(std::string_view text) const {
  if (!json_) put(stdout, text, true);
}

void Console::document(const std::string& json) const {
  if (json_) put(stdout, json, true);
}

void Console::note(std::string_view text) const {
  if (!quiet_ && !json_) put(stderr, text, true);
}

bool Console::shows_progress() const { return !quiet_ && ::isatty(STDERR_FILENO) != 0; }

void Console::progress(std::string_view text) {
  if (!shows_progress()) return;
  put(stderr, std::string("\r\x1b[K") + std::string(text), false);
  in_progress_ = true;
}

void Console::end_progress() {
  if (in_progress_) put(stderr, "\r\x1b[K", false);
  in_progress_ = false;
}

void Console::error(const Error& error) {
  end_progress();
  put(stderr, "isobit: " + printable(error.message), true);
  if (json_) {
    const nlohmann::ordered_json document = {{"error", error.message}, {"code", static_cast<int>(error.code)}};
    put(stdout, document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), true);
  }
}

std::string Console::good(std::string_view text) const {
  return colour_ ? "\x1b[32m" + std::string(text) + "\x1b[0m" : std::string(text);
}

std::string Console::bad(std::string_view text) const {
  return colour_ ? "\x1b[31m" + std::string(text) + "\x1b[0m" : std::string(text);
}

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += to_hex({&byte, 1});
    }
  }
  return out;
}

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace isobit::cli
