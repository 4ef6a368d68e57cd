// The program as a stranger's run meets it: in a process of its own, with a home that holds the client's public key
// alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/commit/signature.h"

namespace isobit::attacks {

struct Ran {
  int code = 0;        // of the exit; minus the signal that ended it
  double seconds = 0;  // of processor time
  uint64_t peak = 0;   // bytes in memory
};

class Program {
 public:
  // The file that the environment variable ISOBIT names; nothing where there is none.
  static std::optional<Program> find();

  // `home` is made anew with nothing but `client` in it. Ended by force after two minutes.
  Ran run(const std::vector<std::string>& arguments, const fs::path& home, const commit::PublicKey& client) const;

 private:
  explicit Program(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Each way to judge the run in `folder`; "audit" is the first.
std::vector<std::vector<std::string>> commands(const fs::path& folder, const fs::path& weights);

}  // namespace isobit::attacks
