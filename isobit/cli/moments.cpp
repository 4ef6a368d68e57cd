#include "isobit/cli/moments.h"

#include <charconv>
#include <chrono>
#include <cstdio>

#include "isobit/base/text.h"

namespace isobit::cli {
namespace {

struct Unit {
  char letter;
  uint64_t seconds;
  const char* name;
};
constexpr Unit kUnits[] = {{'d', 86400, "day"}, {'h', 3600, "hour"}, {'m', 60, "minute"}, {'s', 1, "second"}};
constexpr uint64_t kLongest = uint64_t{36525} * 86400;

}  // namespace

Expected<uint64_t> parse_duration(const std::string& option, const std::string& text) {
  uint64_t number = 0, unit = 1;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  bool good = parsed.ec == std::errc() && !text.empty();
  if (good && parsed.ptr != end) {
    good = false;
    for (const Unit& u : kUnits) {
      if (parsed.ptr + 1 != end || *parsed.ptr != u.letter) continue;
      unit = u.seconds;
      good = true;
    }
  }
  if (!good || number > kLongest / unit) {
    return usage_error(
        text_of(option, " ", text, ": expected a time like 90d, 12h, 10m or 45s, at most a hundred years"));
  }
  return number * unit;
}

std::string duration_text(uint64_t seconds) {
  for (const Unit& u : kUnits) {
    if (seconds % u.seconds != 0) continue;
    const uint64_t count = seconds / u.seconds;
    if (count > 0) return text_of(count, " ", u.name, count == 1 ? "" : "s");
  }
  return "0 seconds";
}

std::string utc_text(uint64_t seconds) {
  using namespace std::chrono;
  const sys_days day{days{static_cast<int64_t>(seconds / 86400)}};
  const year_month_day date{day};
  const auto rest = static_cast<unsigned>(seconds % 86400);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02u:%02u:%02u UTC", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3600, rest / 60 % 60,
                rest % 60);
  return text;
}

uint64_t seconds_since_1970() {
  using namespace std::chrono;
  return static_cast<uint64_t>(duration_cast<seconds>(system_clock::now().time_since_epoch()).count());
}

}  // namespace isobit::cli
