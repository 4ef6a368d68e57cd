#include "isobit/lab/costs.h"

#include <malloc.h>
#include <time.h>

#include <csignal>
#include <cstdio>

#include "isobit/base/temporary_folder.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/json_text.h"
#include "isobit/run/job_file.h"

namespace isobit::cli {

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (size_t at = 0; at < list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

namespace {

struct Options {
  std::string job, trainer, auditor, only;
  std::optional<uint64_t> steps, rounds;
  std::vector<std::string> overrides;
  bool markdown = false;
};

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Expected<train::Job> job_of(const Options& o) {
  ISOBIT_TRY(train::Job job, run::load_job(o.job, o.overrides, {}));
  if (!o.steps) return job;
  if (*o.steps < 1 || *o.steps > 1u << 22) return usage_error(text_of("--steps ", *o.steps, ": from 1 to ", 1 << 22));
  job.steps = static_cast<int64_t>(*o.steps);
  job.warmup = std::min(job.warmup, job.steps - 1);
  return job;
}

std::string number(double value, const char* format = "%.3g") {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string per_step(const std::optional<double>& value) {
  return !value ? "-" : *value == 0 ? "0" : *value < 1000 ? number(*value) : number(*value, "%.0f");
}

bool missed(const lab::Cost& c, const char* what) {
  return std::find(c.misses.begin(), c.misses.end(), what) != c.misses.end();
}

const std::vector<std::string> kColumns = {"arithmetic", "trainer ms",  "ratio",     "auditor ms",
                                           "ratio",      "log bytes",   "near-ties", "corrected",
                                           "forgeable",  "differ from", "test right"};

// A star behind what misses its target.
std::vector<std::string> cells(const lab::Cost& c) {
  auto starred = [&](std::string text, const char* what) { return missed(c, what) ? text + "*" : text; };
  return {c.name,
          number(1e3 * c.trainer.seconds_per_step, "%.4g"),
          starred(number(c.trainer.ratio, "%.3f"), "trainer"),
          number(1e3 * c.auditor.seconds_per_step, "%.4g"),
          starred(number(c.auditor.ratio, "%.3f"), "auditor"),
          starred(per_step(c.log_bytes), "log_bytes"),
          per_step(c.near_ties),
          per_step(c.repairs ? c.repairs : c.corrections),
          c.forgeable ? per_step(c.forgeable) : "-",
          c.first_difference ? text_of("step ", *c.first_difference) : "never",
          percent(static_cast<int64_t>(c.test_top1), static_cast<int64_t>(c.test_rows))};
}

void print_table(const lab::Costs& costs, bool markdown, const Console& console) {
  std::vector<std::vector<std::string>> rows = {kColumns};
  for (const lab::Cost& c : costs.rows) rows.push_back(cells(c));
  std::vector<size_t> widths(kColumns.size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line = markdown ? "|" : "";
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const std::string pad(widths[i] - rows[r][i].size(), ' ');
      const std::string cell = i == 0 ? rows[r][i] + pad : pad + rows[r][i];
      line += markdown ? " " + rows[r][i] + " |" : (i == 0 ? "" : "  ") + cell;
    }
    console.line(line);
    if (markdown && r == 0) {
      std::string rule = "|---|";
      for (size_t i = 1; i < kColumns.size(); ++i) rule += "---:|";
      console.line(rule);
    }
  }
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json side_json(const lab::CostSide& s) {
  return {{"platform", s.platform}, {"seconds_per_step", s.seconds_per_step}, {"ratio", s.ratio}};
}

nlohmann::ordered_json json_of(const lab::Costs& costs) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const lab::Cost& c : costs.rows) {
    rows.push_back(
        {{"arithmetic", c.name},
         {"trainer", side_json(c.trainer)},
         {"auditor", side_json(c.auditor)},
         {"log_bytes_per_step", or_null(c.log_bytes)},
         {"near_ties_per_step", or_null(c.near_ties)},
         {"corrections_per_step", or_null(c.corrections)},
         {"repairs_per_step", or_null(c.repairs)},
         {"forgeable", or_null(c.forgeable)},
         {"findings", c.findings},
         {"first_difference", or_null(c.first_difference)},
         {"test_top1", static_cast<double>(c.test_top1) / static_cast<double>(std::max<uint64_t>(c.test_rows, 1))},
         {"misses", c.misses}});
  }
  return {{"steps", costs.steps}, {"rows", rows}};
}

void report(const lab::Costs& costs, const Options& o, const lab::CostsRequest& request, const Console& console) {
  console.document(json_text(json_of(costs)));
  auto clock = [](const platform::Platform& p) { return p.threads == 1 ? " (processor time)" : " (wall time)"; };
  if (!o.markdown) {
    console.line(text_of("trainer       ", request.trainer.text(), clock(request.trainer)));
    console.line(text_of("auditor       ", request.auditor.text(), clock(request.auditor)));
    console.line(text_of("steps         ", costs.steps, ", median of ", request.rounds, " interleaved rounds"));
  }
  print_table(costs, o.markdown, console);
  bool any = false;
  for (const lab::Cost& c : costs.rows) {
    any = any || !c.misses.empty();
    if (c.findings > 0) console.note(text_of(c.name, ": the audit has ", c.findings, " findings in the log"));
  }
  if (any)
    console.line(text_of(o.markdown ? "\n" : "", "* misses its target: ", number(lab::kMostTime), " x float64, ",
                         number(lab::kMostBytes), " x the bytes of ovt"));
}

Expected<int> run(const Options& o, Console& console) {
  lab::CostsRequest request;
  ISOBIT_TRY(request.trainer, platform::parse_platform(o.trainer));
  ISOBIT_TRY(request.auditor, platform::parse_platform(o.auditor));
  ISOBIT_TRY(request.job, job_of(o));
  request.only = names_in(o.only);
  const uint64_t rounds = o.rounds.value_or(3);
  if (rounds < 1 || rounds > 1000) return usage_error(text_of("--rounds ", rounds, ": from 1 to 1000"));
  request.rounds = static_cast<int>(rounds);
  ISOBIT_TRY(const TemporaryFolder folder, TemporaryFolder::make("costs"));
  request.folder = folder.path();
  request.wall_seconds = monotonic_seconds;
  request.processor_seconds = processor_seconds;
  request.progress = [&](const std::string& what) { console.progress(what); };
  // A child computes in a thread, and is to allocate as the first thread does, in which a training computes.
  mallopt(M_ARENA_MAX, 1);
  const Interruptible interruptible(Interruptible::Second::kIgnored);  // the children end, and the folder goes
  request.stop = &interruptible.stop();
  const Expected<lab::Costs> costs = lab::measure_costs(request);
  console.end_progress();
  if (!costs && interruptible.stop().load()) return kInterrupted;
  ISOBIT_TRY(const lab::Costs measured, costs);
  report(measured, o, request, console);
  return kAgreed;
}

}  // namespace

void add_costs(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add(
      "costs", "compare what the arithmetics cost: time, log, what a forger could move, where weights differ",
      "  isobit costs examples/jobs/digits.toml --trainer openblas@haswell/1t --auditor eigen@avx2/1t\n"
      "  isobit costs job.toml --trainer ordered/1t --auditor ordered@portable/1t --steps 50 --only sparse,ovt\n");
  c.positional("JOB.toml", o->job, "the job");
  c.option("--trainer", "P", o->trainer, "platform that trains (see 'isobit platforms')", true);
  c.option("--auditor", "P", o->auditor, "platform that audits, or trains too where nothing can be audited", true);
  c.option("--steps", "N", o->steps, "train so many steps instead (a longer warm-up is shortened)");
  c.option("--rounds", "R", o->rounds, "measure every arithmetic R times, interleaved, and take medians (default: 3)");
  c.option("--only", "A,B", o->only, "of float32, float64, rounded, ovt, sparse, correct, ordered (default: all)");
  c.flag("--markdown", o->markdown, "print the table as Markdown");
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
