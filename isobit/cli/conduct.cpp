#include "isobit/cli/conduct.h"

#include <charconv>

#include "isobit/adversary/cheat.h"
#include "isobit/base/text.h"

namespace isobit::cli {

Expected<std::optional<run::Conduct>> conduct_of(const std::string& option, const std::string& text,
                                                 const fs::path& path, const std::vector<std::string>& overrides) {
  if (text.empty()) return std::optional<run::Conduct>();
  const size_t at = text.find('@');
  int64_t step = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + (at == text.npos ? text.size() : at + 1), end, step);
  if (read.ec != std::errc() || read.ptr != end)
    return usage_error(text_of(option, ": found '", text, "', expected KIND@STEP, such as rate@3"));
  run::TrainRequest request;
  ISOBIT_TRY(request.job, train::load_job((path / "job.toml").string(), overrides));
  ISOBIT_RETURN_IF_ERROR(adversary::apply_cheat(text.substr(0, at), step, request));
  return std::optional(request.conduct);
}

}  // namespace isobit::cli
