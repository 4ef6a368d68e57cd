// The tables of a lab, and the check that a file has these and no others.
#pragma once

#include "isobit/lab/records/database.h"

namespace isobit::lab::records {

constexpr int64_t kLabApplicationId = 0x69736c62;  // "islb"
constexpr int64_t kLabVersion = 1;

// In an empty database.
Status make_schema(const Database& database);

// The table of a lab's own runs, which only labs have that something was measured into: made unless it is there.
// REQUIRES a transaction.
Status make_own_runs(const Database& database);
Expected<bool> has_own_runs(const Database& database);

// kUnreadable unless the file is whole (PRAGMA quick_check), says that it is a lab of this version, and has exactly the
// tables of make_schema, and perhaps that of make_own_runs, letter by letter.
Status check_schema(const Database& database);

}  // namespace isobit::lab::records
