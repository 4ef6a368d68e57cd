// Durations and moments as people write and read them.
#pragma once

#include <cstdint>
#include <string>

#include "isobit/base/status.h"

namespace isobit::cli {

// "45s", "10m", "12h", "90d"; a bare number is seconds. kUsage, naming the option, for anything else and beyond a
// hundred years.
Expected<uint64_t> parse_duration(const std::string& option, const std::string& text);

// "90 days", "1 hour", "10 minutes", "75 seconds": in the largest unit that leaves no rest.
std::string duration_text(uint64_t seconds);

// Seconds since 1970 as "2026-11-22 03:45:12 UTC". REQUIRES at most the year 9999.
std::string utc_text(uint64_t seconds);

// Of the machine's clock.
uint64_t seconds_since_1970();

}  // namespace isobit::cli
