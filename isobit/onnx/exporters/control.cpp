// If, Loop and Scan: what their graphs use of the graph around them is no operand in ONNX, but seen by its name.
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

Names first_of(Names names, size_t count) {
  names.resize(count);
  return names;
}

Status write_if(Writing& w) {
  AttributeDefs branches;
  for (const char* name : {"then_branch", "else_branch"}) {
    ISOBIT_TRY(auto graph, w.exporter().inner(w, name, 0, 1));
    branches.push_back(attribute(name, std::move(graph)));
  }
  w.add_last("If", {w.name_in(0)}, std::move(branches));
  return {};
}

Status write_loop(Writing& w) {
  const auto own = static_cast<size_t>(w.attributes().integer("carried", 0)) + 2;
  ISOBIT_TRY(auto body, w.exporter().inner(w, "body", own, own));
  w.add_last("Loop", first_of(w.names_in(), own), {attribute("body", std::move(body))});
  return {};
}

Status write_scan(Writing& w) {
  const int64_t states = w.attributes().integer("carried", 0), sequences = w.attributes().integer("num_scan_inputs", 0);
  const auto own = static_cast<size_t>(states + sequences);
  ISOBIT_TRY(auto body, w.exporter().inner(w, "body", own, own));
  Names inputs = first_of(w.names_in(), own);
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs, {"body", "carried"}));
  attributes.push_back(attribute("body", std::move(body)));
  w.add_last("Scan", std::move(inputs), std::move(attributes));
  return {};
}

}  // namespace

void add_control_writers(WriterTable& table) {
  table.own("If", write_if);
  table.own("Loop", write_loop);
  table.own("Scan", write_scan);
}

}  // namespace isobit::onnx
