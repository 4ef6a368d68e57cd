// What a run may use, and what it uses: one ledger for a run and all graphs that its operators run.
#pragma once

#include <cstdint>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {

class Ledger {
 public:
  explicit Ledger(const Limits& limits) : limits_(limits) {}
  const Limits& limits() const { return limits_; }
  // Nothing is held and no trip made.
  void begin_run();
  uint64_t held_bytes() const { return held_; }
  uint64_t peak_bytes() const { return peak_; }  // most that was held at once in this run

  // What a value that the node makes takes. kUnreadable for one over the limit, or of more bytes than can be counted.
  Expected<uint64_t> bytes_of(const graph::Node& node, const graph::Value& value) const;
  // The node begins a trip of a loop. kUnreadable for one too many.
  Status begin_trip(const graph::Node& node);

 private:
  friend class Holding;
  const Limits limits_;
  uint64_t held_ = 0, peak_ = 0;
  int64_t trips_ = 0;
};

// What one holder has of a ledger. It is given back when the holder goes.
class Holding {
 public:
  explicit Holding(Ledger& ledger) : ledger_(ledger) {}
  ~Holding() { give_back(bytes_); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

  // node: who needs the bytes; null: the graph as a whole. kUnreadable where they make too much of it together.
  Status take(const graph::Node* node, uint64_t bytes);
  void give_back(uint64_t bytes);

 private:
  Ledger& ledger_;
  uint64_t bytes_ = 0;
};

// "node 'conv' (Conv)"
std::string text_of_node(const graph::Node& node);

}  // namespace isobit::runtime
