#include "isobit/service/event_log.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace isobit::service {
namespace {

constexpr uint64_t kMostPerSecond = 10;

std::string now_text() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  char text[48], whole[64];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(whole, sizeof whole, "%s.%03ldZ", text, now.tv_nsec / 1'000'000);
  return whole;
}

}  // namespace

void EventLog::event(const std::string& name, const Fields& fields) {
  Fields line = {{"time", now_text()}, {"event", name}};
  line.update(fields);
  const std::string text = line.dump(-1, ' ', false, Fields::error_handler_t::replace) + "\n";
  const std::scoped_lock lock(mutex_);
  [[maybe_unused]] const ssize_t written = ::write(file_, text.data(), text.size());
}

void EventLog::limited(const std::string& name, Fields fields) {
  {
    const std::scoped_lock lock(mutex_);
    Rate& rate = rates_[name];
    const auto now = std::chrono::steady_clock::now();
    if (now - rate.second >= std::chrono::seconds(1)) {
      rate.second = now;
      rate.written = 0;
    }
    if (rate.written == kMostPerSecond) {
      ++rate.left_out;
      return;
    }
    ++rate.written;
    if (rate.left_out > 0) fields["left_out"] = rate.left_out;
    rate.left_out = 0;
  }
  event(name, fields);
}

}  // namespace isobit::service
