#include "isobit/lab/deviation/lab_set.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"
#include "isobit/lab/records/encoding.h"

namespace isobit::lab::deviation {
namespace {

using records::Subject;
using records::SubjectKind;

std::string hash_text(const std::optional<commit::Digest>& digest) {
  return digest ? commit::hex_of(*digest) : std::string("not known");
}

// A subject, and which labs have it.
struct Shared {
  Subject subject;
  std::vector<size_t> labs;
};

Expected<std::vector<Shared>> shared_subjects(std::vector<OpenLab>& labs) {
  std::vector<Shared> all;
  std::map<commit::Digest, size_t> places;
  for (size_t i = 0; i < labs.size(); ++i) {
    ISOBIT_TRY(const auto subjects, labs[i].lab.subjects());
    for (const Subject& subject : subjects) {
      const auto [place, is_new] = places.emplace(records::digest_of(subject), all.size());
      if (is_new) all.push_back({subject, {}});
      all[place->second].labs.push_back(i);
    }
  }
  return all;
}

// The subject of another lab that has most in common with `subject`; null: there is none.
const Subject* nearest(const std::vector<Shared>& all, const Subject& subject, size_t lab) {
  const Subject* found = nullptr;
  int most = -1;
  for (const Shared& other : all) {
    if (std::ranges::find(other.labs, lab) != other.labs.end()) continue;
    const Subject& s = other.subject;
    const int common = 4 * (s.model_sha256 == subject.model_sha256) + 2 * (s.model == subject.model) +
                       (s.input_sha256 == subject.input_sha256) + (s.kind == subject.kind);
    if (common > most) {
      most = common;
      found = &s;
    }
  }
  return found;
}

// Every lab must share a subject with another one.
Status check_shared(const std::vector<OpenLab>& labs, const std::vector<Shared>& all) {
  for (size_t i = 0; i < labs.size(); ++i) {
    const Subject* own = nullptr;
    bool shares = false;
    for (const Shared& s : all) {
      if (std::ranges::find(s.labs, i) == s.labs.end()) continue;
      own = &s.subject;
      shares = shares || s.labs.size() > 1;
    }
    if (shares) continue;
    if (own == nullptr) return usage_error(text_of(labs[i].path, ": no runs in it; measure something first"));
    const Subject* other = nearest(all, *own, i);
    if (other == nullptr) return usage_error(text_of(labs[i].path, ": the other labs have no runs in them"));
    return usage_error(text_of(labs[i].path, ": its runs cannot be compared with those of the other labs: ",
                               difference_of(*own, *other), "; compare runs of one model on one input"));
  }
  return {};
}

Status find_independent(LabComparison& result, const TensorSource& tensors) {
  std::vector<const Comparison*> left;
  for (const Comparison& c : result.subjects) {
    if (c.subject.kind != SubjectKind::kTraining) left.push_back(&c);
  }
  while (!left.empty()) {
    const Subject first = left.front()->subject;
    const auto same = [&](const Comparison* c) {
      return c->subject.kind == first.kind && c->subject.model == first.model &&
             c->subject.model_sha256 == first.model_sha256;
    };
    std::vector<const Comparison*> inputs;
    std::ranges::copy_if(left, std::back_inserter(inputs), same);
    std::erase_if(left, same);
    if (inputs.size() < 2) continue;
    ISOBIT_TRY(const auto found, find_input_independent(inputs, tensors));
    for (const InputIndependent& one : found) result.input_independent.push_back({first.model, one});
  }
  return {};
}

void remark_on_studies(const std::vector<OpenLab>& labs, LabComparison& result) {
  for (const OpenLab& lab : labs) {
    if (!lab.study) continue;
    for (const study::LeftOut& out : lab.study->left_out) {
      result.remarks.push_back(text_of(lab.path, ": ", out.model, " is left out: its ", out.records, " records are of ",
                                       out.platforms, " of the ", lab.study->platforms, " platforms"));
    }
    result.remarks.push_back(text_of(lab.path, ": ", lab.study->records, " records of ", lab.study->platforms,
                                     " platforms; they carry no hashes of model and input, so that nobody can check "
                                     "that these were the same"));
  }
}

}  // namespace

Expected<std::vector<OpenLab>> open_labs(const std::vector<std::string>& paths) {
  std::vector<OpenLab> labs;
  for (const std::string& path : paths) {
    if (!study::is_study(path)) {
      ISOBIT_TRY(records::LabFile lab, records::LabFile::open(path, records::LabFile::Mode::kRead));
      labs.push_back({path, std::move(lab), {}});
      continue;
    }
    ISOBIT_TRY(records::LabFile lab, records::LabFile::in_memory(path));
    ISOBIT_TRY(study::Study study, study::import_study(path, lab));
    labs.push_back({path, std::move(lab), std::move(study)});
  }
  return labs;
}

Expected<std::vector<Subject>> subjects_of(std::vector<OpenLab>& labs) {
  ISOBIT_TRY(const auto all, shared_subjects(labs));
  std::vector<Subject> subjects;
  for (const Shared& shared : all) subjects.push_back(shared.subject);
  return subjects;
}

Expected<std::vector<records::RunRecord>> runs_of(std::vector<OpenLab>& labs, const Subject& subject,
                                                  std::vector<std::string>* from, uint64_t most_memory) {
  std::vector<records::RunRecord> runs;
  std::set<commit::Digest> seen;
  uint64_t left = most_memory, values = 0;
  for (OpenLab& lab : labs) {
    ISOBIT_TRY(auto of_lab, lab.lab.runs(subject, left));
    left -= records::memory_of(of_lab);
    for (records::RunRecord& run : of_lab) {
      if (!seen.insert(records::digest_of(run)).second) continue;
      values += run.values.size();
      if (values > records::kMaxValues) {
        return unreadable(text_of(lab.path, ": with the labs before it there are more than ", records::kMaxValues,
                                  " values; compare fewer at a time"));
      }
      runs.push_back(std::move(run));
      if (from != nullptr) from->push_back(lab.path);
    }
  }
  return runs;
}

Expected<std::vector<records::GraphNode>> graph_of(std::vector<OpenLab>& labs, const Subject& subject,
                                                   std::vector<std::string>* remarks) {
  std::vector<records::GraphNode> graph;
  const std::string* from = nullptr;
  for (OpenLab& lab : labs) {
    ISOBIT_TRY(auto nodes, lab.lab.graph(subject));
    if (nodes.empty()) continue;
    if (from == nullptr) {
      graph = std::move(nodes);
      from = &lab.path;
    } else if (remarks != nullptr && nodes != graph) {
      remarks->push_back(text_of(lab.path, ": its graph of ", title_of(subject), " is not that of ", *from,
                                 ", which is used here; one of them is not the model's"));
    }
  }
  return graph;
}

TensorSource tensors_of(std::vector<OpenLab>& labs) {
  return [&labs](const records::Hash128& hash) -> Expected<std::optional<Bytes>> {
    for (OpenLab& lab : labs) {
      ISOBIT_TRY(std::optional<Bytes> bytes, lab.lab.tensor(hash));
      if (bytes) return bytes;
    }
    return std::optional<Bytes>();
  };
}

Agreement agreement_of(const LabComparison& comparison) {
  bool lacks = comparison.subjects.empty();
  for (const Comparison& c : comparison.subjects) {
    if (c.agreement() == Agreement::kDiffer) return Agreement::kDiffer;
    lacks |= c.agreement() == Agreement::kNothingToCompare;
  }
  return lacks ? Agreement::kNothingToCompare : Agreement::kAgree;
}

std::vector<std::string> words_of_contested(const Comparison& comparison, const std::vector<std::string>& from) {
  std::vector<std::string> words;
  for (const Contested& c : comparison.contested) {
    const std::string &first = from[c.first], &second = from[c.second];
    words.push_back(text_of("two records claim the same run of ", comparison.platforms[c.platform].label, " (",
                            first == second ? text_of("both in ", first) : text_of(first, ", ", second), "; repeat ",
                            c.repeat, c.tapped ? ", with its operators looked at" : "", "), with different values: ",
                            "neither decides anything; one is not of this platform, or it disagrees with itself"));
  }
  return words;
}

std::string title_of(const Subject& subject) {
  return text_of(subject.model.empty() ? "(no name)" : subject.model, subject.settings.empty() ? "" : ", ",
                 subject.settings);
}

std::string difference_of(const Subject& a, const Subject& b) {
  std::vector<std::string> differences;
  if (a.kind != b.kind) {
    differences.push_back(text_of("one is ", records::name_of(a.kind), ", the other ", records::name_of(b.kind)));
  }
  if (a.model_sha256 != b.model_sha256) {
    differences.push_back(text_of("the models differ (SHA-256 ", hash_text(a.model_sha256), " of '", a.model,
                                  "' against ", hash_text(b.model_sha256), " of '", b.model, "')"));
  }
  if (a.input_sha256 != b.input_sha256) {
    differences.push_back(
        text_of("the inputs differ (SHA-256 ", hash_text(a.input_sha256), " against ", hash_text(b.input_sha256), ")"));
  }
  if (a.model != b.model && a.model_sha256 == b.model_sha256) {
    differences.push_back(text_of("the models are named '", a.model, "' and '", b.model, "'"));
  }
  if (a.settings != b.settings) {
    differences.push_back(text_of("the settings differ ('", a.settings, "' against '", b.settings, "')"));
  }
  std::string text;
  for (const std::string& difference : differences) text += (text.empty() ? "" : "; ") + difference;
  return text;
}

Expected<LabComparison> compare_labs(std::vector<OpenLab>& labs, uint64_t most_memory) {
  LabComparison result;
  ISOBIT_TRY(const auto all, shared_subjects(labs));
  if (all.empty()) return usage_error(text_of(labs.front().path, ": no runs in it; measure something first"));
  if (labs.size() > 1) ISOBIT_RETURN_IF_ERROR(check_shared(labs, all));
  const TensorSource tensors = tensors_of(labs);
  uint64_t memory = 0;
  for (const Shared& shared : all) {
    if (labs.size() > 1 && shared.labs.size() < 2) {
      result.remarks.push_back(
          text_of(title_of(shared.subject), " is left out: only ", labs[shared.labs.front()].path, " has runs of it"));
      continue;
    }
    std::vector<std::string> from;
    ISOBIT_TRY(const auto runs, runs_of(labs, shared.subject, &from));
    ISOBIT_TRY(const auto graph, graph_of(labs, shared.subject, &result.remarks));
    ISOBIT_TRY(Comparison comparison, compare_runs(shared.subject, runs, graph, tensors));
    for (std::string& sentence : words_of_contested(comparison, from)) result.remarks.push_back(std::move(sentence));
    if (comparison.too_many_classes()) {
      result.remarks.push_back(text_of(title_of(shared.subject), ": how far apart its ", comparison.classes.size(),
                                       " classes lie is left out: more than ", kMostComparedClasses,
                                       " are not compared with one another"));
    }
    for (const PlatformResult& p : comparison.platforms) memory += records::memory_of(p.record);
    if (memory > most_memory) {
      return unreadable(text_of(labs.front().path,
                                ": fields and flags of the platforms of all its subjects take more "
                                "than ",
                                human_bytes(most_memory), "; compare fewer at a time"));
    }
    result.subjects.push_back(std::move(comparison));
  }
  ISOBIT_RETURN_IF_ERROR(find_independent(result, tensors));
  remark_on_studies(labs, result);
  return result;
}

}  // namespace isobit::lab::deviation
