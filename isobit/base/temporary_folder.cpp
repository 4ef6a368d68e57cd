#include "isobit/base/temporary_folder.h"

#include <unistd.h>

#include <cstdlib>

#include "isobit/base/text.h"

namespace isobit {

Expected<TemporaryFolder> TemporaryFolder::make(const std::string& purpose) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string pattern = ((error ? fs::path(".") : parent) / text_of("isobit-", purpose, "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return unavailable(text_of(pattern, ": this temporary folder cannot be made; name another place in TMPDIR"));
  }
  return TemporaryFolder(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace isobit
