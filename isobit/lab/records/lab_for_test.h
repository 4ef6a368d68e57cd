// A small lab for tests and as the first input of the fuzz target.
#pragma once

#include "isobit/lab/records/lab_file.h"

namespace isobit::lab::records {

// A run on the platform of that number; all have one subject.
inline RunRecord example_run(int number) {
  commit::Digest model{}, input{};
  for (size_t i = 0; i < model.size(); ++i) {
    model[i] = static_cast<uint8_t>(i);
    input[i] = static_cast<uint8_t>(0xff - i);
  }
  const std::string threads = std::to_string(number + 1);
  const Bytes hidden = {1, 2, 3, 4}, out = {static_cast<uint8_t>(number), 0, 0, 0};
  return {.subject = {SubjectKind::kInference, "m.onnx", model, input, "batch 1"},
          .platform = {"openblas@haswell/" + threads + "t", "openblas", {{"threads", threads}}, {"avx2", "fma"}, 2},
          .repeat = 0,
          .tapped = true,
          .seconds = 0.5,
          .error = "",
          .values = {{"hidden", "Gemm", "float32", {1, 1}, hash_of(hidden), "sgemm", false, 0},
                     {"out", "Softmax", "float32", {1}, hash_of(out), "", true, 0}}};
}

inline std::vector<GraphNode> example_graph() {
  return {{"Gemm", "first", {"x", "w", ""}, {"hidden"}}, {"Softmax", "", {"hidden"}, {"out"}}};
}

inline Status example_lab(const fs::path& path) {
  ISOBIT_TRY(LabFile lab, LabFile::create(path));
  ISOBIT_RETURN_IF_ERROR(lab.add_run(example_run(0)));
  ISOBIT_RETURN_IF_ERROR(lab.add_run(example_run(1)));
  ISOBIT_RETURN_IF_ERROR(lab.set_graph(example_run(0).subject, example_graph()));
  return lab.keep(Bytes{1, 2, 3, 4}, 1000).map([](bool) {});
}

// Reads everything that a lab holds.
inline Status read_all(LabFile& lab) {
  ISOBIT_RETURN_IF_ERROR(lab.platforms().map([](auto&&) {}));
  ISOBIT_TRY(const auto subjects, lab.subjects());
  for (const Subject& subject : subjects) {
    ISOBIT_RETURN_IF_ERROR(lab.runs(subject).map([](auto&&) {}));
    ISOBIT_RETURN_IF_ERROR(lab.graph(subject).map([](auto&&) {}));
  }
  ISOBIT_TRY(const auto kept, lab.kept());
  for (const Hash128& hash : kept) ISOBIT_RETURN_IF_ERROR(lab.tensor(hash).map([](auto&&) {}));
  return lab.kept_bytes().map([](uint64_t) {});
}

}  // namespace isobit::lab::records
