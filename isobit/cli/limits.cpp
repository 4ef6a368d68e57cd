#include "isobit/cli/limits.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <system_error>

#include "isobit/base/machine_cannot.h"
#include "isobit/base/text.h"
#include "isobit/cli/json_text.h"
#include "isobit/platform/memory.h"

namespace isobit::cli {

void add_memory_option(Command& command, LimitOptions& options) {
  command.option("--max-memory", "BYTES", options.max_memory,
                 "refuse what would take more memory, like 512M or 8G (default: 3/4 of what the machine has)");
}

void add_recompute_option(Command& command, LimitOptions& options) {
  command.option(
      "--recompute", "WHAT", options.recompute,
      "in less memory, compute values of a step again, to the same bits: cheap ones, all, or none (default)");
}

Status refuse_recompute(const std::string& command, const LimitOptions& options) {
  if (options.recompute == runtime::name_of(runtime::Recompute::kNothing)) return {};
  return usage_error(text_of(command, ": --recompute goes with a run whose steps are computed here"));
}

void add_time_option(Command& command, LimitOptions& options) {
  command.option("--max-time", "SECONDS", options.max_seconds,
                 "give up after so many seconds: inconclusive, exit code 4 (default: no limit)");
}

Expected<uint64_t> byte_count(const std::string& option, const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const std::string units = "KMGT";
  const size_t place = units.find(unit);
  if (error == std::errc() && (unit.empty() || (unit.size() == 1 && place != units.npos))) {
    const int shift = unit.empty() ? 0 : 10 * (static_cast<int>(place) + 1);
    if (value > 0 && value <= UINT64_MAX >> shift) return value << shift;
  }
  return usage_error(text_of(option, " ", text, ": expected a number of bytes, or one with K, M, G or T like 512M"));
}

Expected<run::Limits> limits_of(const LimitOptions& options) {
  run::Limits limits;
  const auto recompute = runtime::recompute_named(options.recompute);
  if (!recompute) return usage_error(text_of("--recompute ", recompute.error().message));
  limits.recompute = *recompute;
  if (options.max_memory.empty()) {
    const uint64_t memory = platform::available_memory();
    if (memory != 0) limits.max_memory = memory / 4 * 3;
  } else {
    ISOBIT_TRY(limits.max_memory, byte_count("--max-memory", options.max_memory));
  }
  return limits;
}

Deadline::Deadline(const LimitOptions& options, Console& console, std::function<std::string()> standing)
    : console_(console), standing_(std::move(standing)) {
  if (!options.max_seconds) return;
  if (*options.max_seconds == 0) end(0);  // not a race against a thread
  try {
    watch_ = std::thread([this, seconds = *options.max_seconds] { wait(seconds); });
  } catch (const std::system_error& error) {
    throw MachineCannot(text_of("cannot start the thread that --max-time takes: ", error.code().message(),
                                "; leave --max-time out, or raise the limits on processes and memory (ulimit -u, "
                                "ulimit -v)"));
  }
  // A process that forks while a thread is still being set up may copy locks which that thread holds.
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return started_; });
}

void Deadline::finish() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
  }
  done_.notify_all();
  if (watch_.joinable()) watch_.join();
}

void Deadline::wait(uint64_t seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  started_ = true;
  done_.notify_all();
  // A hundred years, so that no sum of times overflows.
  const std::chrono::seconds time(std::min<uint64_t>(seconds, 3'000'000'000u));
  if (done_.wait_for(lock, time, [this] { return finished_; })) return;
  end(seconds);  // with the lock: finish() cannot return any more, and nothing else is printed
}

void Deadline::end(uint64_t seconds) {
  std::string reason = text_of("ran past --max-time of ", seconds, " s");
  if (standing_) reason += "; " + standing_();
  console_.end_progress();
  console_.document(json_text(nlohmann::ordered_json{{"verdict", "inconclusive"}, {"reason", reason}}));
  console_.line(text_of("verdict       ", console_.bad("inconclusive")));
  console_.line(text_of("reason        ", reason));
  ::_exit(kInconclusive);
}

}  // namespace isobit::cli
