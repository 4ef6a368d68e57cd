// What a run may use, and what it uses: one ledger for a run and all graphs that its operators run.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>

#include "isobit/base/scratch.h"
#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {

class Ledger {
 public:
  explicit Ledger(const Limits& limits) : limits_(limits), scratch_before_(scratch::held_bytes()) {}
  const Limits& limits() const { return limits_; }
  // Whether anything limits memory.
  bool limits_memory() const { return limits_.tensor_bytes != Limits::kNone || limits_.total_bytes != Limits::kNone; }
  // No trip is made yet. What is held already stays.
  void begin_run();
  uint64_t held_bytes() const { return held_; }
  uint64_t peak_bytes() const { return peak_; }  // most that was held at once in this run

  // What a value that the node makes takes. kUnreadable for one over the limit, or of more bytes than can be counted; a
  // dimension of 0 counts as 1 in this.
  Expected<uint64_t> bytes_of(const graph::Node& node, const graph::Value& value) const;
  // The node begins a trip of a loop. kUnreadable for one too many.
  Status begin_trip(const graph::Node& node);
  // The kernel of this node has found no memory.
  Error no_memory_for(const graph::Node& node) const;

  // Until it goes: what kernels need besides values counts, too, as far as it is scratch (base/scratch.h), beyond what
  // the process had of it when the ledger was made. That limit is the process's: one run at a time may have this.
  // Without a limit on the total it does nothing.
  class CountingScratch {
   public:
    explicit CountingScratch(Ledger& ledger);
    ~CountingScratch();
    CountingScratch(const CountingScratch&) = delete;
    CountingScratch& operator=(const CountingScratch&) = delete;

   private:
    Ledger& ledger_;
    size_t limit_before_ = 0;
  };

 private:
  friend class Holding;
  uint64_t with_scratch() const;
  void limit_scratch() const;

  const Limits limits_;
  uint64_t held_ = 0, peak_ = 0;
  int64_t trips_ = 0;
  bool counts_scratch_ = false;
  const size_t scratch_before_;
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
  uint64_t bytes() const { return bytes_; }

 private:
  Ledger& ledger_;
  uint64_t bytes_ = 0;
};

// "node 'conv' (Conv)"
std::string text_of_node(const graph::Node& node);

// Whether every value of the graph, whose shapes are known, may be made alone; the error is that of the first that may
// not.
Status check_tensors(const graph::Graph& graph, Ledger& ledger);
// "'x' of shape [3, 4], of node 'conv' (Conv)": the value that takes most, for messages.
std::string largest_value(const graph::Graph& graph, const Ledger& ledger);

// f() -> Status, on behalf of a node. Where memory is limited, running out of it is an error that names the node.
template <class F>
Status within_memory(const Ledger& ledger, const graph::Node& node, F&& f) {
  if (!ledger.limits_memory()) return f();
  try {
    return f();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return tl::unexpected<Error>(ledger.no_memory_for(node));
}

// f(), or g(), which does the same with less, where there is no memory for f.
template <class F, class G>
Status where_memory_allows(F&& f, G&& g) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    scratch::trim();
  }
  return g();
}

}  // namespace isobit::runtime
