#include "isobit/base/new_file.h"

namespace isobit {

Status create_file_durably(const fs::path& path, ByteView data, mode_t mode) {
  return write_file_durably(path, data, {.replace = false, .mode = mode});
}

}  // namespace isobit
