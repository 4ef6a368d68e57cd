// Labs, and published studies, compared with one another subject by subject.
#pragma once

#include "isobit/lab/deviation/comparison.h"
#include "isobit/lab/records/lab_file.h"
#include "isobit/lab/study/study.h"

namespace isobit::lab::deviation {

struct OpenLab {
  std::string path;
  records::LabFile lab;
  std::optional<study::Study> study;  // that it was imported from
};
// Each path is a lab, or a folder or archive of a published study (study.h), which is imported into memory.
Expected<std::vector<OpenLab>> open_labs(const std::vector<std::string>& paths);

// What several labs hold, as if they were one. Each takes the errors of LabFile.
// Subjects once, in order of first appearance.
Expected<std::vector<records::Subject>> subjects_of(std::vector<OpenLab>& labs);
// A run that several labs hold counts once; `from`: gets the path of the lab of each. kUnreadable where all together
// hold more than kMaxValues values, or say of platforms and subject what takes more than `most_memory` bytes.
Expected<std::vector<records::RunRecord>> runs_of(std::vector<OpenLab>& labs, const records::Subject& subject,
                                                  std::vector<std::string>* from = nullptr,
                                                  uint64_t most_memory = records::kMaxPlatformMemory);
// Of the first lab that has them; `remarks`: gets a sentence for each lab that has others.
Expected<std::vector<records::GraphNode>> graph_of(std::vector<OpenLab>& labs, const records::Subject& subject,
                                                   std::vector<std::string>* remarks = nullptr);
// Refers to the labs.
TensorSource tensors_of(std::vector<OpenLab>& labs);

struct LabComparison {
  std::vector<Comparison> subjects;  // in order of first appearance
  struct Independent {
    std::string model;
    InputIndependent found;
  };
  std::vector<Independent> input_independent;
  std::vector<std::string> remarks;  // what was left out and what cannot be known
};

// Every subject of one lab; of several labs those subjects that two or more of them have. kUsage, with the hashes that
// differ, where a lab shares no subject with any other: its runs are of another model or input and must not be
// compared. kUnreadable where the platforms of all subjects take more than `most_memory` bytes.
Expected<LabComparison> compare_labs(std::vector<OpenLab>& labs, uint64_t most_memory = records::kMaxPlatformMemory);

// Of all subjects: that they differ counts most, and that there is nothing to compare in one of them more than that the
// others agree.
Agreement agreement_of(const LabComparison& comparison);

// A sentence for each run of which two records do not agree. `from`: the lab of each run that was compared.
std::vector<std::string> words_of_contested(const Comparison& comparison, const std::vector<std::string>& from);

// "m.onnx: input i0": for people.
std::string title_of(const records::Subject& subject);
// What makes two subjects different: "the models differ (SHA-256 ... against ...)".
std::string difference_of(const records::Subject& a, const records::Subject& b);

}  // namespace isobit::lab::deviation
