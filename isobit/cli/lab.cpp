// isobit lab export and isobit lab merge.
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"
#include "isobit/lab/deviation/lab_set.h"

namespace isobit::cli {
namespace {

using lab::records::LabFile;
using lab::records::MergeReport;

struct Options {
  std::string lab, out;
  std::vector<std::string> others;
  bool without_tensors = false;
};

Expected<int> export_lab(const Options& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_output(o.out, false));
  ISOBIT_RETURN_IF_ERROR(lab::study::check_lab_name(o.out));
  ISOBIT_TRY(LabFile source, LabFile::open(o.lab, LabFile::Mode::kRead));
  ISOBIT_RETURN_IF_ERROR(source.export_to(o.out, !o.without_tensors));
  console.document(json_text({{"lab", o.lab}, {"out", o.out}, {"tensors", !o.without_tensors}}));
  console.line(text_of("wrote         ", o.out, o.without_tensors ? ", without tensors" : ""));
  return kAgreed;
}

Expected<int> merge_labs(const Options& o, Console& console) {
  // All are opened, and so checked, before anything is written.
  ISOBIT_TRY(auto others, lab::deviation::open_labs(o.others));
  std::vector<MergeReport> reports;
  const auto fill = [&](LabFile& into) -> Status {
    for (auto& other : others) {
      ISOBIT_TRY(const MergeReport report, into.merge(other.lab, !o.without_tensors));
      reports.push_back(report);
    }
    return {};
  };
  std::error_code ignored;
  ISOBIT_RETURN_IF_ERROR(lab::study::check_lab_name(o.lab));
  if (fs::exists(o.lab, ignored)) {
    ISOBIT_TRY(LabFile into, LabFile::open(o.lab, LabFile::Mode::kWrite));
    ISOBIT_RETURN_IF_ERROR(fill(into));
  } else {
    // In one step, so that a merge that fails leaves nothing.
    ISOBIT_RETURN_IF_ERROR(check_output(o.lab, false));
    ISOBIT_RETURN_IF_ERROR(LabFile::make(o.lab, fill));
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < others.size(); ++i) {
    const MergeReport& report = reports[i];
    list.push_back({{"lab", others[i].path},
                    {"runs_added", report.runs_added},
                    {"runs_known", report.runs_known},
                    {"tensors_added", report.tensors_added},
                    {"other_graphs", report.other_graphs.size()}});
    console.line(text_of(others[i].path, ": ", report.runs_added, " runs added, ", report.runs_known,
                         " were there already, ", report.tensors_added, " tensors added"));
    for (const auto& subject : report.other_graphs) {
      console.line(text_of("note: ", others[i].path, ": its graph of ", lab::deviation::title_of(subject),
                           " is not the one that is in ", o.lab, " already, and is left out; one of them is not the ",
                           "model's: 'isobit explain --model' takes that of the model's file"));
    }
  }
  console.document(json_text({{"lab", o.lab}, {"merged", list}}));
  return kAgreed;
}

}  // namespace

void add_lab(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& e = commands.add("lab export", "write a lab as one compact file, to be sent",
                            "  isobit lab export measured.lab --out send.lab --without-tensors\n");
  e.positional("LAB", o->lab, "the lab");
  e.option("-o,--out", "FILE", o->out, "the new file; nothing is replaced", true);
  e.flag("--without-tensors", o->without_tensors, "hashes alone: classes can be compared, distances cannot");
  e.action([o](Console& console) { return export_lab(*o, console); });

  auto m = std::make_shared<Options>();
  Command& c = commands.add("lab merge", "put the runs of labs, or of a published study, into one lab",
                            "  isobit lab merge --into all.lab machine1.lab machine2.lab\n"
                            "  isobit lab merge --into study.lab equivalence_classes.tar.zst\n");
  c.positionals("LAB...", m->others, "labs, or folders or archives with the JSON records of the published study");
  c.option("--into", "LAB", m->lab, "the lab that grows; made where there is none", true);
  c.flag("--without-tensors", m->without_tensors, "leave out the tensors that were kept");
  c.action([m](Console& console) { return merge_labs(*m, console); });
}

}  // namespace isobit::cli
