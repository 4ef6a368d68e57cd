// A shared library opened by path, for the life of the process: the threads that vendors start cannot be unloaded.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "isobit/base/status.h"

namespace isobit::kernels::vendor {

class Library {
 public:
  // Its symbols stay its own (RTLD_LOCAL), so several libraries with the same names can live side by side.
  static Expected<Library> open(const std::string& path);
  // Whether this process holds it already, whoever opened it.
  static bool is_loaded(const std::string& path);

  // Symbolic links resolved.
  const std::string& path() const { return path_; }

  // Sets `function` to the symbol. Also finds what the library's own dependencies define.
  template <class F>
  Status find(const char* name, F*& function) const {
    ISOBIT_TRY(void* const symbol, find_symbol(name));
    function = reinterpret_cast<F*>(symbol);
    return {};
  }

 private:
  Expected<void*> find_symbol(const char* name) const;
  void* handle_ = nullptr;
  std::string path_;
};

// Gives an environment variable a value (nothing: unsets it) and puts the old one back at the end of the scope.
// Libraries read theirs once, when they are loaded. Not safe while other threads read the environment.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::optional<std::string>& value);
  ~ScopedEnvironment();
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// The first of `candidates` that is a readable file, or "".
std::string first_existing(std::span<const std::string> candidates);

// Equal but for the case of letters: libraries write Haswell and HASWELL.
bool same_name(const std::string& a, const std::string& b);

}  // namespace isobit::kernels::vendor
