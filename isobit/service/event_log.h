// What a service says of itself while it runs: one JSON object a line, for programs that collect logs.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace isobit::service {

// Any thread may write. A line is written in one piece, or not at all where nobody reads; that stops nothing.
class EventLog {
 public:
  using Fields = nlohmann::ordered_json;
  // To this open file of the system, which stays the caller's.
  explicit EventLog(int file) : file_(file) {}

  // {"time": "2026-11-26T10:35:21.123Z", "event": name, ...fields}. Bytes that are no UTF-8 become U+FFFD.
  void event(const std::string& name, const Fields& fields = Fields::object());
  // The same of what strangers cause: at most 10 of one name in a second; the next line says in "left_out" how many
  // were not written.
  void limited(const std::string& name, Fields fields = Fields::object());

 private:
  struct Rate {
    std::chrono::steady_clock::time_point second;
    uint64_t written = 0, left_out = 0;
  };
  std::mutex mutex_;
  const int file_;
  std::map<std::string, Rate> rates_;
};

}  // namespace isobit::service
