#include "isobit/runtime/ledger.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::runtime {

std::string text_of_node(const graph::Node& node) { return text_of("node '", node.name, "' (", node.op, ")"); }

void Ledger::begin_run() {
  held_ = peak_ = 0;
  trips_ = 0;
}

Expected<uint64_t> Ledger::bytes_of(const graph::Node& node, const graph::Value& value) const {
  constexpr uint64_t kMostBytes = INT64_MAX;  // what tensors count their elements in
  const auto what = [&] {
    return text_of(text_of_node(node), ": output '", value.name, "' of shape ", Shape(value.dims).text());
  };
  const auto elements = checked_elements(value.dims, value.dtype, kMostBytes);
  if (!elements) return unreadable(text_of(what(), " has more bytes than can be counted"));
  const uint64_t bytes = static_cast<uint64_t>(*elements) * size_of(value.dtype);
  if (bytes <= limits_.tensor_bytes) return bytes;
  return unreadable(text_of(what(), " has ", human_bytes(bytes), ", over the limit of ",
                            human_bytes(limits_.tensor_bytes),
                            " for one tensor: raise that limit if this machine has the memory"));
}

Status Ledger::begin_trip(const graph::Node& node) {
  if (trips_ >= limits_.trips) {
    return unreadable(text_of(text_of_node(node), ": more than ", limits_.trips,
                              " trips in one run: raise the limit on trips if the loop comes to an end"));
  }
  ++trips_;
  return {};
}

Status Holding::take(const graph::Node* node, uint64_t bytes) {
  const uint64_t most = ledger_.limits_.total_bytes;
  if (bytes > most || ledger_.held_ > most - bytes) {
    return unreadable(text_of(node == nullptr ? "the graph" : text_of_node(*node), " needs ", human_bytes(bytes),
                              " beside ", human_bytes(ledger_.held_), " that the run holds, over the limit of ",
                              human_bytes(most), " for a run: raise that limit if this machine has the memory"));
  }
  bytes_ += bytes;
  ledger_.held_ += bytes;
  ledger_.peak_ = std::max(ledger_.peak_, ledger_.held_);
  return {};
}

void Holding::give_back(uint64_t bytes) {
  bytes_ -= bytes;
  ledger_.held_ -= bytes;
}

}  // namespace isobit::runtime
