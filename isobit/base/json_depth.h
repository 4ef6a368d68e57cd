// To be asked before a library parses JSON that somebody else wrote: a value for each of 16 million brackets takes more
// than a gigabyte.
#pragma once

#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit {

// kUnreadable when arrays and objects lie deeper in one another than `most`. Nothing else is checked. Constant memory.
Status check_json_depth(ByteView json, int most, const std::string& what);

}  // namespace isobit
