#include "isobit/runtime/ledger.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::runtime {

std::string text_of_node(const graph::Node& node) { return text_of("node '", node.name, "' (", node.op, ")"); }

void Ledger::begin_run() {
  peak_ = held_;
  trips_ = 0;
}

Expected<uint64_t> Ledger::bytes_of(const graph::Node& node, const graph::Value& value) const {
  constexpr uint64_t kMostBytes = INT64_MAX;  // what tensors count their elements in
  const auto what = [&] {
    return text_of(text_of_node(node), ": output '", value.name, "' of shape ", Shape(value.dims).text());
  };
  const auto extents = checked_extents(value.dims, value.dtype, kMostBytes);
  if (!extents) return unreadable(text_of(what(), " has more bytes than can be counted"));
  const bool empty = std::ranges::find(value.dims, 0) != value.dims.end();
  const uint64_t bytes = static_cast<uint64_t>(*extents) * size_of(value.dtype);
  if (bytes <= limits_.tensor_bytes) return empty ? 0 : bytes;
  return unreadable(text_of(what(), " has ", human_bytes(bytes), empty ? ", counting its empty dimensions as 1" : "",
                            ", over the limit of ", human_bytes(limits_.tensor_bytes),
                            " for one tensor: raise that limit (--max-tensor) if this machine has the memory"));
}

Status Ledger::begin_trip(const graph::Node& node) {
  if (trips_ >= limits_.trips) {
    return unreadable(text_of(text_of_node(node), ": more than ", limits_.trips,
                              " trips in one run: raise the limit on trips (--max-trips) if the loop comes to an end"));
  }
  ++trips_;
  return {};
}

Error Ledger::no_memory_for(const graph::Node& node) const {
  const std::string what = text_of(text_of_node(node), ": its kernel needs more memory than ");
  if (limits_.total_bytes == Limits::kNone) return {ErrorCode::kUnreadable, text_of(what, "this machine has")};
  return {ErrorCode::kUnreadable,
          text_of(what, "is left of ", human_bytes(limits_.total_bytes),
                  " for a run: raise that limit (--max-memory) if this machine has the memory")};
}

uint64_t Ledger::with_scratch() const {
  const size_t scratch = counts_scratch_ ? scratch::held_bytes() : 0;
  return held_ + (scratch > scratch_before_ ? scratch - scratch_before_ : 0);
}

void Ledger::limit_scratch() const {
  if (counts_scratch_) scratch::set_limit(scratch_before_ + (limits_.total_bytes - held_));
}

Ledger::CountingScratch::CountingScratch(Ledger& ledger) : ledger_(ledger) {
  if (ledger.limits_.total_bytes == Limits::kNone) return;
  limit_before_ = scratch::set_limit(scratch::kNoLimit);
  ledger.counts_scratch_ = true;
  ledger.limit_scratch();
}

Ledger::CountingScratch::~CountingScratch() {
  if (!ledger_.counts_scratch_) return;
  ledger_.counts_scratch_ = false;
  scratch::set_limit(limit_before_);
}

Status Holding::take(const graph::Node* node, uint64_t bytes) {
  const uint64_t most = ledger_.limits_.total_bytes;
  const auto is_too_much = [&] { return bytes > most || ledger_.with_scratch() > most - bytes; };
  // What kernels have kept for other sizes makes room.
  if (bytes <= most && is_too_much() && ledger_.counts_scratch_) scratch::trim();
  if (is_too_much()) {
    return unreadable(text_of(node == nullptr ? "the graph" : text_of_node(*node), " needs ", human_bytes(bytes),
                              " beside ", human_bytes(ledger_.with_scratch()),
                              " that the run holds, over the limit of ", human_bytes(most),
                              " for a run: raise that limit (--max-memory) if this machine has the memory"));
  }
  bytes_ += bytes;
  ledger_.held_ += bytes;
  ledger_.peak_ = std::max(ledger_.peak_, ledger_.held_);
  ledger_.limit_scratch();
  return {};
}

void Holding::give_back(uint64_t bytes) {
  bytes_ -= bytes;
  ledger_.held_ -= bytes;
  ledger_.limit_scratch();
}

Status check_tensors(const graph::Graph& graph, Ledger& ledger) {
  for (const graph::Node& node : graph.nodes()) {
    for (const graph::ValueId o : node.outputs) {
      if (o == graph::kNoValue) continue;
      ISOBIT_TRY(const uint64_t bytes, ledger.bytes_of(node, graph.value(o)));
      ISOBIT_RETURN_IF_ERROR(Holding(ledger).take(&node, bytes));
    }
  }
  return {};
}

std::string largest_value(const graph::Graph& graph, const Ledger& ledger) {
  uint64_t most = 0;
  std::string text = "an input";
  for (const graph::Node& node : graph.nodes()) {
    for (const graph::ValueId o : node.outputs) {
      const uint64_t bytes = o == graph::kNoValue ? 0 : ledger.bytes_of(node, graph.value(o)).value_or(0);
      if (bytes <= most) continue;
      most = bytes;
      const graph::Value& value = graph.value(o);
      text = text_of("'", value.name, "' of shape ", Shape(value.dims).text(), ", of ", text_of_node(node));
    }
  }
  return text;
}

}  // namespace isobit::runtime
