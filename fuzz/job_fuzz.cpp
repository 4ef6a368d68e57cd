// A job as a stranger may write it: never a crash, and what is taken writes itself so that it is read back as the same.
#include "isobit/train/job.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The first byte: how much of the end is an override.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t last = size == 0 ? 0 : static_cast<size_t>(data[0]) % size;
  std::vector<std::string> overrides;
  if (size > 0 && data[0] < 64) overrides.emplace_back(text.substr(size - last));
  const auto job = train::parse_job(text, "input", "/folder", overrides);
  if (!job) return 0;
  const auto again = train::parse_job(train::job_to_toml(*job), "again", "");
  ISOBIT_CHECK(again && train::canonical_job_bytes(*again) == train::canonical_job_bytes(*job));
  return 0;
}
