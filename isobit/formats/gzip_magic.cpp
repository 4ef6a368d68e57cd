#include "isobit/formats/gzip.h"

namespace isobit::formats {

bool is_gzip(ByteView data) { return data.size() >= 2 && data[0] == 0x1f && data[1] == 0x8b; }

}  // namespace isobit::formats
