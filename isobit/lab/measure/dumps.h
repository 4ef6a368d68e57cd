// Tensors that somebody's own program wrote, as the record of a run.
#pragma once

#include "isobit/base/file.h"
#include "isobit/lab/records/lab_file.h"

namespace isobit::lab::measure {

inline constexpr uint64_t kMaxDumpFiles = 100'000;
inline constexpr uint64_t kMaxDumpFile = uint64_t{8} << 30;  // bytes of a file, and of what is in an .npz

struct DumpsRequest {
  fs::path folder;
  fs::path lab;           // made where it is not there
  std::string platform;   // a name for where it ran; empty: the folder's
  fs::path model;         // the file of what ran: only dumps of the same one are compared; empty: nobody knows
  uint64_t max_kept = 0;  // bytes of tensors in the lab, compressed; 0: hashes alone
  uint64_t max_memory = UINT64_MAX;  // bytes that one tensor may take, with what packing it takes
};

struct DumpsReport {
  records::Subject subject;
  std::string platform;
  int64_t steps = 0;
  uint64_t values = 0, kept_tensors = 0, left_out = 0;
};

// Each .npz or .safetensors file of the folder is a step, in natural order of their names, and its number is the last
// one in its name where all have one and they ascend, else 0, 1, ... Each tensor in it is a value: of an .npz in the
// order in which it was written, of a .safetensors, which keeps no order, in natural order of names. All values are
// compared: none is an output more than others. Errors: kUnreadable, with file and tensor, for what is no such file,
// has another type, or is over a limit; kUnavailable, before it has memory, for a tensor beyond max_memory; kUsage for
// a folder without one. The lab is then what it was, and is not made.
Expected<DumpsReport> import_dumps(const DumpsRequest& request);

// Whether `a` comes before `b`, runs of digits being compared as numbers.
bool in_natural_order(const std::string& a, const std::string& b);

}  // namespace isobit::lab::measure
