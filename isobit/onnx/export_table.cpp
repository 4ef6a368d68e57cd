// Which of our operators is written how.
#include <map>

#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {

Writer& WriterTable::own(const char* op, std::function<Status(Writing&)> write) {
  writers.push_back(std::make_unique<Writer>(Writer{.op = op, .write = std::move(write)}));
  return *writers.back();
}

void WriterTable::refuse(std::initializer_list<const char*> ops, const char* reason) {
  for (const char* op : ops) own(op, {}).refusal = reason;
}

const Writer* find_writer(const std::string& op) {
  static const std::map<std::string, std::unique_ptr<Writer>> kWriters = [] {
    WriterTable table;
    add_elementwise_writers(table);
    add_movement_writers(table);
    add_window_writers(table);
    add_reduction_writers(table);
    add_product_writers(table);
    add_control_writers(table);
    add_tree_writers(table);
    add_refused_writers(table);
    std::map<std::string, std::unique_ptr<Writer>> writers;
    for (auto& writer : table.writers) {
      const std::string name = writer->op;
      ISOBIT_CHECK(graph::find_op(name) != nullptr && writers.emplace(name, std::move(writer)).second);
    }
    return writers;
  }();
  const auto found = kWriters.find(op);
  return found == kWriters.end() ? nullptr : found->second.get();
}

}  // namespace isobit::onnx
