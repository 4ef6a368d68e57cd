// What a person or a program sees: results on stdout, progress and messages on stderr.
//
// Whatever goes through a Console is shown with printable() of base/printable.h: names and texts out of files that
// somebody else wrote can neither break a line nor command a terminal. What we format ourselves (colour, several lines)
// has functions of its own.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "isobit/base/printable.h"
#include "isobit/base/status.h"

namespace isobit::cli {

using isobit::printable;

class Console {
 public:
  enum class Colour { kAuto, kAlways, kNever };

  Console();
  void set_json(bool json) { json_ = json; }
  void set_quiet(bool quiet) { quiet_ = quiet; }
  void set_colour(Colour colour);

  bool json() const { return json_; }

  // A line of the result, for people; nothing under --json.
  void line(std::string_view text) const;
  // Lines that are all our own (a script, a manual page), as they are; nothing under --json.
  void text(std::string_view lines) const;
  // The machine's form of the result: one JSON document, under --json only.
  void document(const std::string& json) const;
  // A remark that is no part of the result, on stderr; nothing under --quiet.
  void note(std::string_view text) const;
  // Rewrites one line on stderr when that is a terminal; nothing otherwise or under --quiet.
  void progress(std::string_view text);
  void end_progress();
  bool shows_progress() const;
  // "isobit: message" on stderr, and under --json {"error": ...} on stdout unless a document is there already.
  void error(const Error& error);

  // The same text for line(), green or red where there is colour.
  std::string good(std::string_view text) const;
  std::string bad(std::string_view text) const;

  // After the last output: kUnavailable when some of the result could not be written.
  Status finish() const;

 private:
  void put_result(std::string_view text) const;
  std::string shown(std::string_view text) const;

  bool json_ = false;
  bool quiet_ = false;
  bool colour_ = false;
  bool in_progress_ = false;
  std::string mark_;             // stands before a colour in a line; made at random, so that no file can hold it
  mutable int write_error_ = 0;  // the first errno of stdout
  mutable bool has_document_ = false;
};

// Seconds of a monotonic clock.
double monotonic_seconds();

// The environment variable, "" when unset.
std::string environment(const char* name);

}  // namespace isobit::cli
