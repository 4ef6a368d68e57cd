// The nodes of a subject's model in a lab.
#include "isobit/base/text.h"
#include "isobit/lab/records/encoding.h"
#include "isobit/lab/records/lab_file_internal.h"

namespace isobit::lab::records {

Status LabFile::Impl::replace_graph(int64_t subject, const std::vector<GraphNode>& nodes) {
  ISOBIT_TRY(Statement clear, database.prepare("DELETE FROM nodes WHERE subject = ?"));
  ISOBIT_RETURN_IF_ERROR(clear.bind(subject).run());
  ISOBIT_TRY(Statement insert, database.prepare("INSERT INTO nodes (subject, place, op, name, inputs, outputs) "
                                                "VALUES (?, ?, ?, ?, ?, ?)"));
  int64_t place = 0;
  for (const GraphNode& node : nodes) {
    const Bytes inputs = encode(node.inputs), outputs = encode(node.outputs);
    insert.bind(subject).bind(place++).bind(node.op).bind(node.name);
    ISOBIT_RETURN_IF_ERROR(insert.bind(ByteView(inputs)).bind(ByteView(outputs)).run());
  }
  return {};
}

Status LabFile::set_graph(const Subject& subject, const std::vector<GraphNode>& nodes) {
  ISOBIT_RETURN_IF_ERROR(check(RunRecord{.subject = subject, .platform = {}, .error = {}, .values = {}}));
  ISOBIT_RETURN_IF_ERROR(check(nodes));
  ISOBIT_TRY(Transaction transaction, Transaction::begin(impl_->database));
  ISOBIT_TRY(const int64_t row, impl_->row_of(subject));
  ISOBIT_RETURN_IF_ERROR(impl_->replace_graph(row, nodes));
  return transaction.commit();
}

Expected<std::vector<GraphNode>> LabFile::graph(const Subject& subject, uint64_t most_memory) {
  std::vector<GraphNode> nodes;
  uint64_t memory = 0;
  ISOBIT_TRY(const auto subject_row, impl_->find_subject(digest_of(subject)));
  if (!subject_row) return nodes;
  const Database& database = impl_->database;
  ISOBIT_TRY(Statement rows,
             database.prepare("SELECT op, name, inputs, outputs FROM nodes WHERE subject = ? ORDER BY place"));
  rows.bind(*subject_row);
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return nodes;
    GraphNode node;
    ISOBIT_TRY(node.op, rows.text(0, kMaxText));
    ISOBIT_TRY(node.name, rows.text(1, kMaxText));
    ISOBIT_TRY(const ByteView inputs, rows.blob(2, kMaxColumn));
    ISOBIT_TRY(node.inputs, decode_texts(inputs, text_of(database.what(), ": inputs of a node")));
    ISOBIT_TRY(const ByteView outputs, rows.blob(3, kMaxColumn));
    ISOBIT_TRY(node.outputs, decode_texts(outputs, text_of(database.what(), ": outputs of a node")));
    memory += memory_of(node);
    if (memory > most_memory) {
      return unreadable(text_of(database.what(), ": the graph of '", subject.model, "' takes more than ",
                                human_bytes(most_memory), " of memory; measure it again into a new lab"));
    }
    nodes.push_back(std::move(node));
    if (nodes.size() > kMaxValues) return unreadable(text_of(database.what(), ": too many nodes"));
  }
}

}  // namespace isobit::lab::records
