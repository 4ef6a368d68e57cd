#include "isobit/lab/worker/engine_name.h"

#include <charconv>

namespace isobit::lab::worker {

namespace {
constexpr int kMostThreads = 1024;
}  // namespace

std::optional<EngineName> parse_engine_name(const std::string& text) {
  EngineName parsed;
  std::string head = text;
  if (const size_t slash = text.find('/'); slash != text.npos) {
    head = text.substr(0, slash);
    std::string number = text.substr(slash + 1);
    if (!number.ends_with('t')) return {};
    number.pop_back();
    const auto end = number.data() + number.size();
    const auto [rest, error] = std::from_chars(number.data(), end, parsed.threads);
    if (error != std::errc() || rest != end || parsed.threads < 1 || parsed.threads > kMostThreads) return {};
  }
  const size_t at = head.find('@');
  parsed.engine = head.substr(0, at);
  if (at != head.npos) parsed.setting = head.substr(at + 1);
  return parsed;
}

}  // namespace isobit::lab::worker
