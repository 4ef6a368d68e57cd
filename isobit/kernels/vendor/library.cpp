#include "isobit/kernels/vendor/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "isobit/base/text.h"

namespace isobit::kernels::vendor {

Expected<Library> Library::open(const std::string& path) {
  std::error_code missing;
  Library library;
  library.path_ = std::filesystem::canonical(path, missing).string();
  if (missing) return unavailable(text_of("library '", path, "': ", missing.message()));
  library.handle_ = dlopen(library.path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.handle_) {
    const char* why = dlerror();
    return unavailable(text_of("library '", library.path_, "' cannot be opened: ", why ? why : "no reason given"));
  }
  return library;
}

bool Library::is_loaded(const std::string& path) {
  std::error_code missing;
  const std::string real = std::filesystem::canonical(path, missing).string();
  if (missing) return false;
  void* handle = dlopen(real.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != nullptr;
}

Expected<void*> Library::find_symbol(const char* name) const {
  void* symbol = dlsym(handle_, name);
  if (!symbol)
    return unavailable(text_of("library '", path_, "' has no function ", name, "; is it what it should be?"));
  return symbol;
}

ScopedEnvironment::ScopedEnvironment(const char* name, const std::optional<std::string>& value) : name_(name) {
  if (const char* old = std::getenv(name)) old_ = old;
  value ? setenv(name, value->c_str(), 1) : unsetenv(name);
}

ScopedEnvironment::~ScopedEnvironment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

std::string first_existing(std::span<const std::string> candidates) {
  for (const std::string& path : candidates) {
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

bool same_name(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace isobit::kernels::vendor
