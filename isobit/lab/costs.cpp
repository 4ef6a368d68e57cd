#include "isobit/lab/costs.h"

#include <algorithm>
#include <csignal>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/log/counts.h"
#include "isobit/log/kind.h"
#include "isobit/run/audit_run.h"
#include "isobit/run/open_run.h"
#include "isobit/run/train_run.h"
#include "isobit/verify/transcript.h"

namespace isobit::lab {
namespace {

constexpr int kLongestRun = 7 * 24 * 3600;  // of a child, seconds
constexpr int64_t kCountedSteps = 20;       // for the share of outputs that ovt lets move

// What a row stands for; all else follows from its arithmetic.
struct Row {
  std::string name;
  std::string arithmetic;
  std::optional<log::Kind> log = std::nullopt;  // of a logged arithmetic: which of the logs
  bool base = false;                            // the others are measured against it

  const platform::Arithmetic& rules() const { return platform::arithmetic_of(arithmetic); }
  // An audit says whether it comes out the same; rows without a promise are trained twice and compared.
  bool is_audited() const { return rules().promises; }
};

const std::vector<Row>& all_rows() {
  static const std::vector<Row> kRows = {
      {.name = "float32", .arithmetic = "float32"},
      {.name = "float64", .arithmetic = "float64", .base = true},
      {.name = "rounded", .arithmetic = "rounded"},
      {.name = "ovt", .arithmetic = "logged-1", .log = log::Kind::kOvt},
      {.name = "sparse", .arithmetic = "logged-1", .log = log::Kind::kSparse},
      {.name = "correct", .arithmetic = "correct-1"},
      {.name = "ordered", .arithmetic = "ordered-1"},
  };
  return kRows;
}

train::Job job_of(const train::Job& job, const Row& row) {
  train::Job out = job;
  out.arithmetic = row.arithmetic;
  if (!row.rules().logs) out.rounding = train::Rounding{};
  if (row.rules().rounds) out.rounding.bits = job.rounding.bits;
  if (row.log) out.rounding.log = *row.log;
  out.checkpoint_every = 0;
  return out;
}

// What a child says of its run.
struct Measured {
  double seconds = 0;
  uint64_t steps = 0, bytes = 0, elements = 0, entries = 0, needed = 0, corrections = 0, findings = 0;
  uint64_t repaired = 0;
  uint64_t rows = 0, top1 = 0;  // of the evaluation

  double per_step(uint64_t number) const { return static_cast<double>(number) / static_cast<double>(steps); }
};

// What goes through the pipe, in this order.
constexpr uint64_t Measured::*kNumbers[] = {
    &Measured::steps,       &Measured::bytes,    &Measured::elements, &Measured::entries, &Measured::needed,
    &Measured::corrections, &Measured::findings, &Measured::repaired, &Measured::rows,    &Measured::top1};

Bytes encoded(const Measured& m) {
  ByteWriter out;
  out.f64(m.seconds);
  for (const auto number : kNumbers) out.u64(m.*number);
  return out.take();
}

Expected<Measured> decoded(ByteView bytes) {
  ByteReader in(bytes, "what a run came to");
  Measured m;
  ISOBIT_TRY(m.seconds, in.f64("seconds"));
  for (const auto number : kNumbers) {
    ISOBIT_TRY(m.*number, in.u64("count"));
  }
  ISOBIT_RETURN_IF_ERROR(in.finish());
  return m;
}

void add(const log::CountsByOperator& counts, Measured& m) {
  const log::Counts c = log::total(counts);
  m.elements = c.elements;
  m.entries = c.entries;
  m.needed = c.needed;
  m.corrections = c.corrections;
  m.findings = c.findings();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t half = v.size() / 2;
  return v.size() % 2 == 1 ? v[half] : (v[half - 1] + v[half]) / 2;
}

// The outputs that a decision of ovt as published could move without being noticed: all whose float64 value is not the
// rounded one already, since an auditor there follows whatever decision its own value does not contradict. More than
// isobit's audits let a log move: with rounding.distance, the default, decisions obey the bounds, and outside of inner
// products none is taken in any case.
class MovableCounter final : public runtime::Observer {
 public:
  explicit MovableCounter(int bits) : bits_(bits) {}
  uint64_t elements = 0, movable = 0;

  Status before_stage(const runtime::NodeRun& run) override {
    const graph::OpDef& def = graph::op_of(run.node);
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      const Tensor& tensor = run.outputs[o];
      if (!def.output(o).moved_from.empty() || !tensor.defined() || tensor.dtype() != DType::kFloat64) continue;
      for (const double x : tensor.span<double>()) {
        const double r = kernels::rounding::round_to_bits(x, bits_);
        movable += x < r || x > r ? 1 : 0;
      }
      elements += static_cast<uint64_t>(tensor.elements());
    }
    return {};
  }

 private:
  const int bits_;
};

// One row being measured.
struct Entry {
  const Row* row = nullptr;
  Cost cost;
  platform::Platform trainer, auditor;
  std::vector<double> trainer_seconds, auditor_seconds;  // per step, one a round
};

// Of these runs alone; never written down.
struct Keys {
  commit::SecretKey client, trainer;
};

class Measurement {
 public:
  Measurement(const CostsRequest& request, Keys keys) : request_(request), keys_(std::move(keys)) {}

  Expected<Costs> run() {
    for (const Row& row : all_rows()) {
      if (!wanted(row)) continue;
      Entry e;
      e.row = &row;
      e.cost.name = row.name;
      e.trainer = platform_of(row, request_.trainer);
      e.auditor = platform_of(row, request_.auditor);
      entries_.push_back(std::move(e));
    }
    for (Entry& e : entries_) ISOBIT_RETURN_IF_ERROR(check(e));
    for (int round = 1; round <= request_.rounds; ++round) {
      for (Entry& e : entries_) ISOBIT_RETURN_IF_ERROR(time(e, text_of("round ", round, "/", request_.rounds, ": ")));
    }
    return results();
  }

 private:
  bool wanted(const Row& row) const {
    const auto& only = request_.only;
    return only.empty() || row.base || std::find(only.begin(), only.end(), row.name) != only.end();
  }

  // Our own kernels stand in for a library that cannot compute the row.
  static platform::Platform platform_of(const Row& row, const platform::Platform& p) {
    return row.rules().any_library ? p : platform::Platform{.isa = p.isa, .core = "", .threads = p.threads};
  }

  std::function<double()> clock_of(const platform::Platform& p) const {
    return p.threads == 1 ? request_.processor_seconds : request_.wall_seconds;
  }

  Expected<Measured> in_child(const std::string& what, const platform::Platform& p,
                              const std::function<Expected<Bytes>()>& work) const {
    const std::string name = text_of(what, " on ", p.text());
    if (request_.stop != nullptr && request_.stop->load()) return unavailable("stopped");
    if (request_.progress) request_.progress(name);
    const auto answer = kernels::vendor::run_in_child(
        name,
        [&] {
          for (int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
          return work();
        },
        kLongestRun);
    if (answer) return decoded(*answer);
    const auto& [code, message] = answer.error();
    return tl::unexpected<Error>({code, message.starts_with(name) ? message : text_of(name, ": ", message)});
  }

  Expected<Measured> train(const std::string& what, const train::Job& job, const platform::Platform& p,
                           const fs::path& out) const {
    run::TrainRequest request;
    request.out = out;
    request.job = job;
    request.platform = p;
    request.client = keys_.client;
    request.trainer = keys_.trainer;
    request.seconds = clock_of(p);
    return in_child(what + ", training", p, [&]() -> Expected<Bytes> {
      ISOBIT_TRY(const run::TrainSummary s, run::train_run(request));
      Measured m;
      m.seconds = s.step_seconds;
      m.steps = static_cast<uint64_t>(s.steps);
      m.bytes = s.log_bytes;
      add(s.log_counts, m);
      m.repaired = static_cast<uint64_t>(s.repairs.repaired);
      if (const train::Metric* top1 = train::find_metric(s.evaluation.metrics, "top1")) {
        m.rows = top1->total.count;
        m.top1 = top1->total.sum.whole().value_or(0);
      }
      return encoded(m);
    });
  }

  // kRejected unless the run is accepted whole.
  Expected<Measured> audit(const std::string& what, const train::Job& job, const platform::Platform& p,
                           const fs::path& run) const {
    run::AuditRequest request;
    request.run = run;
    request.client = keys_.client.public_key();
    request.job = job;
    request.platform = p;
    request.seconds = clock_of(p);
    return in_child(what + ", audit", p, [&]() -> Expected<Bytes> {
      ISOBIT_TRY(const run::AuditSummary s, run::audit_run(request));
      if (!s.verdict.accepted() || !s.verdict.complete) {
        return rejected(text_of("the honest run is not accepted: ", s.verdict.reason));
      }
      Measured m;
      m.seconds = s.step_seconds;
      m.steps = s.verdict.steps_checked;
      add(s.log_counts, m);
      return encoded(m);
    });
  }

  // Both sides once, every state committed: what is logged and where the weights part.
  Status check(Entry& e) {
    Cost& c = e.cost;
    train::Job job = job_of(request_.job, *e.row);
    job.commit_every = 1;
    const fs::path run = request_.folder / "trainer", other = request_.folder / "auditor";
    const std::string what = "check: " + c.name;
    ISOBIT_TRY(const Measured trained, train(what, job, e.trainer, run));
    c.test_rows = trained.rows;
    c.test_top1 = trained.top1;
    if (e.row->is_audited()) {
      ISOBIT_TRY(const Measured audited, audit(what, job, e.auditor, run));
      describe(*e.row, trained, audited, c);
      if (e.row->log == log::Kind::kOvt) {
        ISOBIT_TRY(c.forgeable, movable_share(job, e.auditor));
      }
    } else {
      ISOBIT_RETURN_IF_ERROR(train(what, job, e.auditor, other).map([](auto&&) {}));
      ISOBIT_TRY(c.first_difference, first_difference(run, other));
    }
    fs::remove_all(run);
    fs::remove_all(other);
    return {};
  }

  static void describe(const Row& row, const Measured& trained, const Measured& audited, Cost& c) {
    if (row.rules().corrects) c.repairs = trained.per_step(trained.repaired);
    c.forgeable = 0;
    if (row.log == log::Kind::kSparse && audited.elements > 0) {
      c.forgeable = static_cast<double>(audited.needed) / static_cast<double>(audited.elements);
    }
    if (!row.log) return;
    c.log_bytes = trained.per_step(trained.bytes);
    c.near_ties = trained.per_step(trained.entries);
    c.corrections = audited.per_step(audited.corrections);
    c.findings = audited.findings;
  }

  // Of ovt's outputs on the auditor's platform, over the first steps.
  Expected<double> movable_share(const train::Job& job, const platform::Platform& p) const {
    ISOBIT_TRY(const Measured m, in_child("count: ovt", p, [&]() -> Expected<Bytes> {
                 platform::Engine engine(p);
                 ISOBIT_TRY(const run::Session session, run::open_session(job, engine));
                 MovableCounter counter(static_cast<int>(job.rounding.bits));
                 for (int64_t t = 0; t < std::min(job.steps, kCountedSteps); ++t) {
                   ISOBIT_RETURN_IF_ERROR(session.trainer->advance({.observer = &counter}).map([](auto&&) {}));
                 }
                 Measured counted;
                 counted.elements = counter.elements;
                 counted.entries = counter.movable;
                 return encoded(counted);
               }));
    return m.elements == 0 ? 0.0 : static_cast<double>(m.entries) / static_cast<double>(m.elements);
  }

  Expected<std::optional<uint64_t>> first_difference(const fs::path& one, const fs::path& other) const {
    ISOBIT_TRY(const run::OpenedRun a, run::open_run({one, keys_.client.public_key(), {}}));
    ISOBIT_TRY(const run::OpenedRun b, run::open_run({other, keys_.client.public_key(), {}}));
    const verify::Transcript &first = a.reader.transcript(), &second = b.reader.transcript();
    for (uint64_t t = 1; t <= first.steps(); ++t) {
      if (first.committed_state(t) != second.committed_state(t)) return t;
    }
    return std::nullopt;
  }

  Status time(Entry& e, const std::string& round) {
    train::Job job = job_of(request_.job, *e.row);
    job.commit_every = job.steps;
    job.evaluate_samples = 1;
    const fs::path run = request_.folder / "trainer", other = request_.folder / "auditor";
    const std::string what = round + e.cost.name;
    ISOBIT_TRY(const Measured trained, train(what, job, e.trainer, run));
    e.trainer_seconds.push_back(trained.seconds / static_cast<double>(trained.steps));
    Expected<Measured> second =
        e.row->is_audited() ? audit(what, job, e.auditor, run) : train(what, job, e.auditor, other);
    ISOBIT_TRY(const Measured audited, std::move(second));
    e.auditor_seconds.push_back(audited.seconds / static_cast<double>(audited.steps));
    fs::remove_all(run);
    fs::remove_all(other);
    return {};
  }

  Costs results() {
    Costs costs;
    costs.steps = static_cast<uint64_t>(request_.job.steps);
    const Entry& base = *std::find_if(entries_.begin(), entries_.end(), [](auto& e) { return e.row->base; });
    const double trainer = median(base.trainer_seconds), auditor = median(base.auditor_seconds);
    for (Entry& e : entries_) {
      const double t = median(e.trainer_seconds), a = median(e.auditor_seconds);
      e.cost.trainer = {e.trainer.text(), t, t / trainer};
      e.cost.auditor = {e.auditor.text(), a, a / auditor};
    }
    note_misses();
    for (const Entry& e : entries_) costs.rows.push_back(e.cost);
    return costs;
  }

  // Only the sparse log has targets.
  void note_misses() {
    std::optional<double> ovt;
    for (Entry& e : entries_) {
      Cost& c = e.cost;
      if (e.row->log == log::Kind::kOvt) ovt = c.log_bytes;
      if (e.row->log != log::Kind::kSparse) continue;
      if (!(c.trainer.ratio <= kMostTime)) c.misses.emplace_back("trainer");
      if (!(c.auditor.ratio <= kMostTime)) c.misses.emplace_back("auditor");
      if (ovt && !(*c.log_bytes <= *ovt * kMostBytes)) c.misses.emplace_back("log_bytes");
    }
  }

  const CostsRequest& request_;
  const Keys keys_;
  std::vector<Entry> entries_;
};

}  // namespace

const std::vector<std::string>& cost_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Row& row : all_rows()) names.push_back(row.name);
    return names;
  }();
  return kNames;
}

train::Job cost_job(const train::Job& job, const std::string& name) {
  const auto row = std::ranges::find(all_rows(), name, &Row::name);
  ISOBIT_CHECK(row != all_rows().end());
  return job_of(job, *row);
}

Expected<Costs> measure_costs(const CostsRequest& request) {
  ISOBIT_CHECK(request.rounds >= 1);
  for (const std::string& name : request.only) {
    const auto& names = cost_names();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return usage_error(text_of("'", name, "' is no arithmetic to compare; expected ", join_or(names)));
  }
  ISOBIT_TRY(commit::SecretKey client, commit::SecretKey::generate());
  ISOBIT_TRY(commit::SecretKey trainer, commit::SecretKey::generate());
  return Measurement(request, Keys{std::move(client), std::move(trainer)}).run();
}

}  // namespace isobit::lab
