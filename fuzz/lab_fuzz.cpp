// A lab that a stranger sent: all of it is read, and what is read fits into a lab of ours, from which the same is read.
#include "isobit/lab/records/lab_for_test.h"

using namespace isobit;
using namespace isobit::lab::records;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Expected<LabFile> lab = LabFile::from_bytes({data, size}, "input");
  if (!lab || !read_all(*lab)) return 0;
  Expected<LabFile> own = LabFile::in_memory("own");
  ISOBIT_CHECK(own.has_value());
  if (!own->merge(*lab)) return 0;
  ISOBIT_CHECK(read_all(*own).has_value());
  const auto again = own->merge(*lab);
  ISOBIT_CHECK(again.has_value() && again->runs_added == 0 && again->tensors_added == 0);
  return 0;
}
