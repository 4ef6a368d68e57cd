#include "isobit/cli/conduct.h"

#include <charconv>

#include "isobit/adversary/cheat.h"
#include "isobit/base/text.h"

namespace isobit::cli {
namespace {

// The number behind "KIND@".
std::optional<int64_t> number_of(const std::string& text) {
  const size_t at = text.find('@');
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + (at == text.npos ? text.size() : at + 1), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

Expected<std::optional<run::Conduct>> conduct_of(const std::string& option, const std::string& text,
                                                 const fs::path& path, const std::vector<std::string>& overrides) {
  if (text.empty()) return std::optional<run::Conduct>();
  const auto step = number_of(text);
  if (!step) return usage_error(text_of(option, ": found '", text, "', expected KIND@STEP, such as rate@3"));
  run::TrainRequest request;
  ISOBIT_TRY(request.job, train::load_job((path / "job.toml").string(), overrides));
  ISOBIT_RETURN_IF_ERROR(adversary::apply_cheat(text.substr(0, text.find('@')), *step, request));
  return std::optional(request.conduct);
}

Expected<std::unique_ptr<adversary::FalseValue>> false_value_of(const std::string& option, const std::string& text) {
  if (text.empty()) return nullptr;
  const auto node = number_of(text);
  if (!node || *node < 0 || text.substr(0, text.find('@')) != "value") {
    return usage_error(text_of(option, ": found '", text, "', expected value@NODE, such as value@3: of an inference"));
  }
  return std::make_unique<adversary::FalseValue>(static_cast<uint64_t>(*node));
}

}  // namespace isobit::cli
