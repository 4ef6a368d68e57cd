#include "isobit/lab/explain/labs.h"

#include <algorithm>
#include <set>

namespace isobit::lab::explain {

Expected<Labs> Labs::open(const std::vector<std::filesystem::path>& paths) {
  std::vector<records::LabFile> files;
  for (const auto& path : paths) {
    ISOBIT_TRY(records::LabFile file, records::LabFile::open(path, records::LabFile::Mode::kRead));
    files.push_back(std::move(file));
  }
  return Labs(std::move(files));
}

Expected<std::vector<records::Subject>> Labs::subjects() {
  std::vector<records::Subject> all;
  for (records::LabFile& file : files_) {
    ISOBIT_TRY(const auto subjects, file.subjects());
    for (const records::Subject& subject : subjects) {
      if (std::ranges::find(all, subject) == all.end()) all.push_back(subject);
    }
  }
  return all;
}

Expected<std::vector<records::RunRecord>> Labs::runs(const records::Subject& subject) {
  std::vector<records::RunRecord> all;
  std::set<commit::Digest> known;
  for (records::LabFile& file : files_) {
    ISOBIT_TRY(auto runs, file.runs(subject));
    for (records::RunRecord& run : runs) {
      if (known.insert(records::digest_of(run)).second) all.push_back(std::move(run));
    }
  }
  return all;
}

Expected<std::vector<records::GraphNode>> Labs::graph(const records::Subject& subject) {
  std::vector<records::GraphNode> graph;
  for (records::LabFile& file : files_) {
    ISOBIT_TRY(graph, file.graph(subject));
    if (!graph.empty()) break;
  }
  return graph;
}

deviation::TensorSource Labs::tensors() {
  return [this](const records::Hash128& hash) -> Expected<std::optional<Bytes>> {
    for (records::LabFile& file : files_) {
      ISOBIT_TRY(auto bytes, file.tensor(hash));
      if (bytes) return bytes;
    }
    return std::optional<Bytes>();
  };
}

}  // namespace isobit::lab::explain
