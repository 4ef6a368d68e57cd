#include "isobit/cli/console.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "isobit/base/bytes.h"
#include "isobit/base/random.h"
#include "isobit/base/text.h"
#include "isobit/cli/json_text.h"

namespace isobit::cli {

namespace {

// Longer messages only quote long input, which does not help the reader.
constexpr size_t kMostMessage = 4000;

// What is lost on stderr is lost.
void put_remark(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string clipped(std::string text) {
  if (text.size() <= kMostMessage) return text;
  size_t end = kMostMessage;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
  text.resize(end);
  return text + " ... (cut)";
}

}  // namespace

Console::Console() {
  uint8_t bytes[16] = {};
  // Without random bytes there is no colour: the mark is then one that text can hold.
  if (fill_random(bytes)) mark_ = "\x1b" + to_hex(bytes);
}

void Console::set_colour(Colour colour) {
  const bool terminal =
      ::isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  colour_ = !mark_.empty() && (colour == Colour::kAlways || (colour == Colour::kAuto && terminal));
}

void Console::put_result(std::string_view text) const {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written && write_error_ == 0) write_error_ = errno != 0 ? errno : EIO;
}

// Everything printable, but for the colours of good() and bad(): mark, 'g', 'r' or '0'.
std::string Console::shown(std::string_view text) const {
  if (!colour_) return printable(text);
  std::string out;
  for (;;) {
    const size_t at = text.find(mark_);
    out += printable(text.substr(0, at));
    if (at == std::string_view::npos || at + mark_.size() >= text.size()) return out;
    const char colour = text[at + mark_.size()];
    out += colour == 'g' ? "\x1b[32m" : colour == 'r' ? "\x1b[31m" : "\x1b[0m";
    text.remove_prefix(at + mark_.size() + 1);
  }
}

void Console::line(std::string_view text) const {
  if (!json_) put_result(shown(text) + "\n");
}

void Console::text(std::string_view lines) const {
  if (!json_) put_result(lines);
}

void Console::document(const std::string& json) const {
  if (!json_) return;
  has_document_ = true;
  put_result(printable_json(json) + "\n");
}

void Console::note(std::string_view text) const {
  if (!quiet_ && !json_) put_remark(shown(text) + "\n");
}

bool Console::shows_progress() const { return !quiet_ && ::isatty(STDERR_FILENO) != 0; }

void Console::progress(std::string_view text) {
  if (!shows_progress()) return;
  put_remark("\r\x1b[K" + printable(text));
  in_progress_ = true;
}

void Console::end_progress() {
  if (in_progress_) put_remark("\r\x1b[K");
  in_progress_ = false;
}

void Console::error(const Error& error) {
  end_progress();
  const std::string message = clipped(error.message);
  put_remark("isobit: " + printable(message) + "\n");
  if (!json_ || has_document_) return;
  const nlohmann::ordered_json document = {{"error", message}, {"code", static_cast<int>(error.code)}};
  this->document(json_text(document));
}

std::string Console::good(std::string_view text) const {
  return colour_ ? text_of(mark_, 'g', text, mark_, '0') : std::string(text);
}

std::string Console::bad(std::string_view text) const {
  return colour_ ? text_of(mark_, 'r', text, mark_, '0') : std::string(text);
}

Status Console::finish() const {
  if (write_error_ == 0) return {};
  const std::string reason = write_error_ == EPIPE ? "whoever read it has closed it" : std::strerror(write_error_);
  return unavailable(text_of("standard output: the result could not be written: ", reason));
}

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace isobit::cli
