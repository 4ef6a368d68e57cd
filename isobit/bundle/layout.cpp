#include "isobit/bundle/layout.h"

#include <charconv>

#include "isobit/base/text.h"

namespace isobit::bundle {
namespace {
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";
}  // namespace

std::string checkpoint_name(uint64_t step) { return text_of(kPrefix, step, kSuffix); }

std::optional<uint64_t> checkpoint_step(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  if (name.size() <= kPrefix.size() + kSuffix.size()) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  uint64_t step = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), step);
  // One name per step: what does not print back is another name.
  if (checkpoint_name(step) != name) return std::nullopt;
  return step;
}

bool is_bundle_file(std::string_view path) {
  for (std::string_view name : {kJobFile, kEngagementFile, kTranscriptFile, kHeadsFile, kLogFile}) {
    if (path == name) return true;
  }
  if (!path.starts_with(kCheckpointFolder)) return false;
  path.remove_prefix(kCheckpointFolder.size());
  return path.starts_with('/') && checkpoint_step(path.substr(1)).has_value();
}

}  // namespace isobit::bundle
