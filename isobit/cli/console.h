// What a person or a program sees: results on stdout, progress and messages on stderr.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "isobit/base/status.h"

namespace isobit::cli {

class Console {
 public:
  enum class Colour { kAuto, kAlways, kNever };

  void set_json(bool json) { json_ = json; }
  void set_quiet(bool quiet) { quiet_ = quiet; }
  void set_colour(Colour colour);

  bool json() const { return json_; }

  // A line of the result, for people; nothing under --json.
  void line(std::string_view text) const;
  // The machine's form of the result: one JSON document, under --json only.
  void document(const std::string& json) const;
  // A remark that is no part of the result, on stderr; nothing under --quiet.
  void note(std::string_view text) const;
  // Rewrites one line on stderr when that is a terminal; nothing otherwise or under --quiet.
  void progress(std::string_view text);
  void end_progress();
  bool shows_progress() const;
  // "isobit: message" on stderr, and under --json {"error": ...} on stdout.
  void error(const Error& error);

  std::string good(std::string_view text) const;  // green where there is colour
  std::string bad(std::string_view text) const;   // red

 private:
  bool json_ = false;
  bool quiet_ = false;
  bool colour_ = false;
  bool in_progress_ = false;
};

// Control characters written out as \xNN: names and texts out of files that somebody else wrote must neither break a
// line nor command a terminal.
std::string printable(std::string_view text);

// Seconds of a monotonic clock.
double monotonic_seconds();

// The environment variable, "" when unset.
std::string environment(const char* name);

}  // namespace isobit::cli
