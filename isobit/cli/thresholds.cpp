#include "isobit/lab/thresholds.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"
#include "isobit/run/job_file.h"

namespace isobit::cli {

namespace {

using lab::OperatorFigures;
using lab::PairFigures;
using lab::ThresholdsReport;

struct Options {
  std::string job, platforms, margin = "4", out;
  bool force = false;
  std::optional<uint64_t> steps, samples, draws;
  std::vector<std::string> overrides;
};

Expected<std::vector<platform::Platform>> parse_platforms(const std::string& list) {
  std::vector<platform::Platform> platforms;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    ISOBIT_TRY(platform::Platform p, platform::parse_platform(std::string_view(list).substr(begin, end - begin)));
    platforms.push_back(std::move(p));
    begin = end + 1;
  }
  return platforms;
}

Expected<lab::ThresholdsRequest> request_of(const Options& o) {
  lab::ThresholdsRequest request;
  // Said before minutes of measuring, not after.
  const fs::path folder = fs::path(o.out).parent_path();
  if (!folder.empty() && !fs::is_directory(folder)) {
    return unavailable(text_of("--out ", o.out, ": there is no folder ", folder.string()));
  }
  ISOBIT_TRY(request.platforms, parse_platforms(o.platforms));
  ISOBIT_TRY(request.job, run::load_job(o.job, o.overrides, {}));
  const char* end = o.margin.data() + o.margin.size();
  const auto parsed = std::from_chars(o.margin.data(), end, request.margin);
  if (parsed.ec != std::errc() || parsed.ptr != end || o.margin.empty()) {
    return usage_error(text_of("--margin '", o.margin, "': expected a number of 1 or more"));
  }
  constexpr uint64_t kMost = uint64_t{1} << 40;  // limits proper are the library's
  request.steps = o.steps ? static_cast<int64_t>(std::min(*o.steps, kMost)) : std::min<int64_t>(10, request.job.steps);
  if (o.samples) request.samples = *o.samples;
  if (o.draws) request.draws = static_cast<int64_t>(std::min(*o.draws, kMost));
  return request;
}

std::string range(double least, double most, const char* format) {
  char low[40], high[40];
  std::snprintf(low, sizeof low, format, least);
  std::snprintf(high, sizeof high, format, most);
  return std::string(low) == high ? low : text_of(low, "..", high);
}

std::string pair_name(const ThresholdsReport& report, const PairFigures& p) {
  return report.platforms[p.first] + " - " + report.platforms[p.second];
}

// 0.25 exactly is a default, not a measurement; near a half, what counts is the distance from it.
std::string threshold_text(double threshold) {
  if (threshold == 0.25) return "0.25";
  char text[40];
  std::snprintf(text, sizeof text, "0.5-%.1e", 0.5 - threshold);
  return text;
}

std::vector<std::string> main_table(const ThresholdsReport& report) {
  std::vector<std::string> lines;
  char line[400];
  std::snprintf(line, sizeof line, "%-16s %-12s %10s %8s %9s %6s %9s %-14s %9s %-12s %s", "operator", "terms",
                "outputs", "sampled", "measured", "job", "proposed", "sound", "straddles", "threshold", "worst pair");
  lines.emplace_back(line);
  for (const OperatorFigures& f : report.operators) {
    char proposed[40] = "-";
    if (f.proposed_divergence > 0) std::snprintf(proposed, sizeof proposed, "%.2f", f.proposed_divergence);
    std::snprintf(line, sizeof line, "%-16s %-12s %10llu %8llu %9.3f %6g %9s %-14s %9llu %-12s %s", f.op.c_str(),
                  range(static_cast<double>(f.least_k), static_cast<double>(f.most_k), "%.0f").c_str(),
                  static_cast<unsigned long long>(f.outputs), static_cast<unsigned long long>(f.samples), f.divergence,
                  f.allowed, proposed, range(f.least_bound, f.most_bound, "%.0f").c_str(),
                  static_cast<unsigned long long>(f.straddles), threshold_text(f.threshold).c_str(),
                  f.divergence > 0 ? pair_name(report, f.pairs[f.worst_pair]).c_str() : "all alike");
    lines.emplace_back(line);
  }
  return lines;
}

// A row of one figure for each operator.
template <class F>
std::string row(const ThresholdsReport& report, const std::string& name, F figure) {
  std::string text = name;
  text.resize(std::max<size_t>(text.size(), 48), ' ');
  for (const OperatorFigures& f : report.operators) {
    char cell[60];
    std::snprintf(cell, sizeof cell, " %15s", figure(f).c_str());
    text += cell;
  }
  return text;
}

std::vector<std::string> pair_table(const ThresholdsReport& report) {
  if (report.operators.empty()) return {};
  std::vector<std::string> lines;
  lines.push_back(row(report, "largest |x - y| (straddles)", [](const OperatorFigures& f) { return f.op; }));
  for (size_t q = 0; q < report.operators[0].pairs.size(); ++q) {
    lines.push_back(row(report, pair_name(report, report.operators[0].pairs[q]), [q](const OperatorFigures& f) {
      char cell[60];
      std::snprintf(cell, sizeof cell, "%.3f (%llu)", f.pairs[q].divergence,
                    static_cast<unsigned long long>(f.pairs[q].straddles));
      return std::string(cell);
    }));
  }
  lines.push_back(row(report, "largest |x - exact|", [](const OperatorFigures& f) { return f.op; }));
  for (size_t p = 0; p < report.platforms.size(); ++p) {
    lines.push_back(row(report, report.platforms[p], [p](const OperatorFigures& f) {
      char cell[60];
      std::snprintf(cell, sizeof cell, "%.3f", f.errors[p]);
      return std::string(cell);
    }));
  }
  return lines;
}

// What a reader must know before using the figures.
std::vector<std::string> findings(const ThresholdsReport& report) {
  std::vector<std::string> lines;
  for (const OperatorFigures& f : report.operators) {
    if (f.beyond_bound > 0) {
      lines.push_back(text_of("NO CLASSICAL SUM: ", f.op, ": ", f.beyond_bound,
                              " values are outside the sound bound; a platform among these cannot be used for it"));
    }
    if (f.beyond_job > 0) {
      lines.push_back(text_of("BEYOND THE JOB: ", f.op, ": ", f.beyond_job, " values are outside the job's d = ",
                              f.allowed, " (two results more than d apart, or one more than d/2 + 1 off the exact ",
                              "value); raise rounding.divergences to the proposed value"));
    }
    if (f.straddles > 0 && f.least_distance <= lab::least_threshold(report.bits)) {
      lines.push_back(text_of("NO THRESHOLD: ", f.op, ": a straddling value lies only ", f.least_distance,
                              " of a spacing from what it rounds to; log = \"ovt\" misses such values"));
    }
  }
  if (report.left_out > 0) {
    lines.push_back(text_of("LEFT OUT: ", report.left_out,
                            " products were not compared, because two platforms no longer had the same operands"));
  }
  return lines;
}

nlohmann::ordered_json number_or_null(bool known, double x) {
  return known && std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json operator_json(const ThresholdsReport& report, const OperatorFigures& f) {
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array(), errors = nlohmann::ordered_json::object();
  for (const PairFigures& p : f.pairs) {
    pairs.push_back(
        {{"platforms", {report.platforms[p.first], report.platforms[p.second]}},
         {"samples", p.samples},
         {"divergence", number_or_null(true, p.divergence)},
         {"terms", p.divergence_k},
         {"straddles", p.straddles},
         {"threshold", number_or_null(p.straddles > 0, lab::largest_threshold(p.least_distance, report.bits))}});
  }
  for (size_t p = 0; p < f.errors.size(); ++p) errors[report.platforms[p]] = number_or_null(true, f.errors[p]);
  return {{"operator", f.op},
          {"terms", {f.least_k, f.most_k}},
          {"outputs", f.outputs},
          {"samples", f.samples},
          {"divergence", number_or_null(true, f.divergence)},
          {"worst_pair", pairs[f.worst_pair]["platforms"]},
          {"errors", errors},
          {"sound_bound", {f.least_bound, f.most_bound}},
          {"share_of_sound_bound", number_or_null(true, f.bound_share)},
          {"job_divergence", f.allowed},
          {"beyond_job", f.beyond_job},
          {"beyond_sound_bound", f.beyond_bound},
          {"proposed_divergence", number_or_null(f.proposed_divergence > 0, f.proposed_divergence)},
          {"straddles", f.straddles},
          {"least_distance", number_or_null(f.straddles > 0, f.least_distance)},
          {"threshold", f.threshold},
          {"proposed_threshold", number_or_null(f.proposed_threshold > 0, f.proposed_threshold)},
          {"pairs", pairs}};
}

Expected<int> run(const Options& o, Console& console) {
  if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(check_output(o.out, o.force));
  ISOBIT_TRY(lab::ThresholdsRequest request, request_of(o));
  request.progress = [&](size_t done) {
    console.progress(
        text_of("platform ", done + 1, "/", request.platforms.size(), "   ", request.platforms[done].text()));
  };
  const Expected<ThresholdsReport> measured = lab::measure_thresholds(request);
  console.end_progress();
  if (!measured) return tl::unexpected<Error>(measured.error());
  const ThresholdsReport& report = *measured;

  const std::string head = text_of("Job ", printable(request.job.name), ", ", report.steps, " steps and ", report.draws,
                                   " draws of normal numbers; ", report.platforms.size(), " platforms; margin ",
                                   report.margin, ". Divergences in units of 2^-53 x the sum of magnitudes.");
  const std::vector<std::string> table = main_table(report), pairs = pair_table(report), found = findings(report);
  // First what can fail: who gets the result can rely on the file.
  if (!o.out.empty()) {
    std::vector<std::string> remarks = {head, ""};
    for (const auto* part : {&table, &pairs, &found}) remarks.insert(remarks.end(), part->begin(), part->end());
    ISOBIT_RETURN_IF_ERROR(
        write_file_durably(o.out, as_bytes(lab::rounding_fragment(report, remarks)), {.replace = o.force}));
  }
  for (const std::string& line : {head, std::string()}) console.line(line);
  for (const std::string& line : table) console.line(line);
  console.line("");
  for (const std::string& line : pairs) console.line(line);
  if (!found.empty()) console.line("");
  for (const std::string& line : found) console.line(console.bad(line));

  nlohmann::ordered_json operators = nlohmann::ordered_json::array();
  for (const OperatorFigures& f : report.operators) operators.push_back(operator_json(report, f));
  const nlohmann::ordered_json document = {{"job", request.job.name},
                                           {"bits", request.job.rounding.bits},
                                           {"platforms", report.platforms},
                                           {"steps", report.steps},
                                           {"draws", report.draws},
                                           {"margin", report.margin},
                                           {"operators", operators},
                                           {"left_out", report.left_out},
                                           {"findings", found}};
  console.document(json_text(document));
  if (!o.out.empty()) {
    console.line("");
    console.line(text_of("written to    ", o.out, " (for a job of arithmetic logged-1)"));
  }
  return found.empty() ? kAgreed : kDisagreed;
}

}  // namespace

void add_thresholds(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add(
      "thresholds", "measure how far platforms' inner products lie apart: what [rounding] of a logged job needs",
      "  isobit thresholds examples/jobs/digits.toml --platforms openblas@haswell/2t,openblas@nehalem/1t,ordered/1t\n"
      "  isobit thresholds job.toml --platforms eigen@avx2/1t,ordered/1t --steps 20 --out rounding.toml\n");
  c.positional("JOB.toml", o->job, "the job, of any arithmetic");
  c.option("-p,--platforms", "P,P,...", o->platforms, "two or more, each run in a process of its own", true);
  c.option("--steps", "N", o->steps, "first steps of the job that each platform takes (default: 10)");
  c.option("--draws", "N", o->draws, "draws of normal numbers for each shape of a product (default: 1)");
  c.option("--samples", "S", o->samples, "outputs sampled of each product and step (default: 256)");
  c.option("--margin", "X", o->margin, "proposals are the measured figures times this (default: 4)");
  c.option("-o,--out", "FILE", o->out, "write the table and the proposals as TOML, for the job's [rounding]");
  c.flag("--force", o->force, "let --out replace a file");
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
