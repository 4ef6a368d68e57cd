#include "isobit/base/text.h"
#include "isobit/formats/gzip.h"

namespace isobit::formats {

bool gzip_available() { return false; }

Expected<Bytes> gunzip(ByteView, const std::string& name, uint64_t) {
  return unavailable(text_of(name, ": this build has no gzip; decompress the file first"));
}

Expected<Bytes> gunzip_front(ByteView data, const std::string& name, uint64_t size) { return gunzip(data, name, size); }

}  // namespace isobit::formats
