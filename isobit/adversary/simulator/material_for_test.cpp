#include "isobit/adversary/simulator/material_for_test.h"

#include <algorithm>
#include <fstream>

#include "isobit/adversary/cheat.h"
#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/run/dispute_run.h"

namespace isobit::adversary::simulator {
namespace {

train::Job job_of(const std::vector<std::string>& overrides) {
  constexpr char kJob[] =
      "[job]\nname = \"simulated\"\nseed = 3\nsteps = 4\n[model]\nbuilder = \"digits-cnn\"\n[data]\ndataset = "
      "\"digits\"\nbatch = 40\n"
      "[optimizer]\nlr = 0.05\nmomentum = 0.9\n[evaluate]\nsamples = 8\n"
      "[commit]\nevery = 3\n";
  return train::parse_job(kJob, "simulated", "", overrides).value();
}

std::string text_of_all(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

// What makes near-ties common, so that every step has some.
std::vector<std::string> with_near_ties(std::vector<std::string> overrides, Difference difference) {
  if (difference == Difference::kNone) return overrides;
  overrides.emplace_back("rounding.bits=32");
  overrides.emplace_back(difference == Difference::kBeyond ? "rounding.divergence=8" : "rounding.divergence=65536");
  return overrides;
}

constexpr std::array<const char*, 4> kAsIf = {"", "log-nudge", "log-hide", "log-beyond"};

// Some bytes of every segment are others, in a file that somebody has open.
void damage_log(const fs::path& run) {
  const fs::path file = run / bundle::kLogFile;
  const auto size = static_cast<std::streamoff>(fs::file_size(file));
  std::fstream log(file, std::ios::binary | std::ios::in | std::ios::out);
  for (std::streamoff at = 40; at < size; at += 50) log.seekp(at).put('!');
  ISOBIT_CHECK(log.flush().good());
}

}  // namespace

commit::Digest Random::digest() {
  commit::Digest digest;
  for (uint8_t& byte : digest) byte = static_cast<uint8_t>(next());
  return digest;
}

Expected<std::vector<dispute::StepPoint>> CachedWitness::points(uint64_t first, uint64_t last) {
  const std::pair key(first, last);
  if (!points_.contains(key)) {
    ISOBIT_TRY(points_[key], computed_.points(first, last));
  }
  return points_.at(key);
}

Expected<std::vector<commit::TensorRoot>> CachedWitness::roots(uint64_t step) {
  if (!roots_.contains(step)) {
    ISOBIT_TRY(roots_[step], computed_.roots(step));
  }
  return roots_.at(step);
}

Expected<std::map<uint64_t, Tensor>> CachedWitness::values(uint64_t step, const std::set<uint64_t>& entries) {
  if (!values_.contains(step)) {
    std::set<uint64_t> all;
    for (uint64_t i = 0; i < schema().size(); ++i) all.insert(i);
    ISOBIT_TRY(values_[step], computed_.values(step, all));
  }
  std::map<uint64_t, Tensor> out;
  for (const uint64_t entry : entries) out.emplace(entry, values_.at(step).at(entry));
  return out;
}

dispute::ShownNode CachedWitness::node(uint64_t index) {
  if (!nodes_.contains(index)) nodes_.emplace(index, computed_.node(index));
  return nodes_.at(index);
}

Expected<verify::ShownLeaves> CachedWitness::batch(uint64_t step) {
  if (!batches_.contains(step)) {
    ISOBIT_TRY(batches_[step], computed_.batch(step));
  }
  return batches_.at(step);
}

Expected<verify::ShownSample> CachedWitness::sample(uint64_t step, int64_t position) {
  const std::pair key(step, position);
  if (!samples_.contains(key)) {
    ISOBIT_TRY(samples_[key], computed_.sample(step, position));
  }
  return samples_.at(key);
}

// Another question may have led the witness elsewhere in between.
class CachedWitness::OfSample final : public dispute::Witness {
 public:
  OfSample(dispute::Witness& run, uint64_t sample, std::vector<train::TraceEntry> schema)
      : run_(run), sample_(sample), schema_(std::move(schema)) {}
  const std::vector<train::TraceEntry>& schema() const override { return schema_; }
  Expected<std::vector<dispute::StepPoint>> points(uint64_t first, uint64_t last) override {
    return at().points(first, last);
  }
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override { return at().roots(step); }
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override {
    return at().values(step, entries);
  }
  dispute::ShownNode node(uint64_t index) override { return at().node(index); }
  const verify::GraphTree& graph() const override { return at().graph(); }
  Expected<Tensor> given(const dispute::Operand& operand) override { return at().given(operand); }
  Expected<verify::ShownLeaves> batch(uint64_t step) override { return at().batch(step); }
  Expected<verify::ShownSample> sample(uint64_t step, int64_t position) override { return at().sample(step, position); }
  Expected<dispute::GraphShowing> shown_graph() override { return at().shown_graph(); }
  Expected<std::vector<train::MetricSum>> items(uint64_t metric) override { return at().items(metric); }
  Expected<verify::LogTree> log(uint64_t step) override { return at().log(step); }
  Expected<std::optional<runtime::EntryPlace>> illegal_entry(uint64_t step) override {
    return at().illegal_entry(step);
  }

 private:
  dispute::Witness& at() const { return *run_.scored(sample_).value(); }

  dispute::Witness& run_;
  const uint64_t sample_;
  const std::vector<train::TraceEntry> schema_;
};

Expected<dispute::Witness*> CachedWitness::scored(uint64_t sample) {
  if (!scored_.contains(sample)) {
    ISOBIT_TRY(const dispute::Witness* at, computed_.scored(sample));
    const auto of_sample = std::make_shared<OfSample>(computed_, sample, at->schema());
    scored_[sample] = {of_sample, std::make_shared<CachedWitness>(*of_sample)};
  }
  return scored_.at(sample).second.get();
}

Expected<dispute::GraphShowing> CachedWitness::shown_graph() {
  if (!shown_graph_) {
    ISOBIT_TRY(shown_graph_, computed_.shown_graph());
  }
  return *shown_graph_;
}

Expected<std::vector<train::MetricSum>> CachedWitness::items(uint64_t metric) { return computed_.items(metric); }

Expected<verify::LogTree> CachedWitness::log(uint64_t step) { return computed_.log(step); }

Expected<std::optional<runtime::EntryPlace>> CachedWitness::illegal_entry(uint64_t step) {
  return computed_.illegal_entry(step);
}

std::unique_ptr<Material> Material::of_honest_parties(const std::vector<std::string>& overrides, Difference difference,
                                                      uint64_t step) {
  // Where a search would end: most near-ties of the first product are lost in what comes behind it.
  static const std::map<std::pair<Difference, uint64_t>, int> kFound = {
      {{Difference::kEntry, 2}, 8},  {{Difference::kMissing, 2}, 3}, {{Difference::kBeyond, 2}, 8},
      {{Difference::kEntry, 4}, 51}, {{Difference::kMissing, 4}, 4}, {{Difference::kBeyond, 4}, 20}};
  const auto found = kFound.find({difference, step});
  for (int seed = found == kFound.end() ? 3 : found->second;; ++seed) {
    ISOBIT_CHECK(seed < 100);
    std::vector<std::string> all = overrides;
    all.push_back(text_of("job.seed=", seed));
    std::unique_ptr<Material> material(new Material(all, difference, step));
    if (material->differs()) return material;
  }
}

bool Material::differs() {
  if (!run_) return false;
  const uint64_t steps = subject_->rules.steps;
  const auto trainer = honest_->points(0, steps).value(), challenger = challenger_->points(0, steps).value();
  return std::ranges::mismatch(trainer, challenger).in1 - trainer.begin() == static_cast<int64_t>(*differs_at_) - 1;
}

// The challenger follows its copy of the trainer's log, as far as it can be read.
void Material::differ(run::OpenRequest open, Difference difference) {
  const fs::path copy = folder_ / "copy";
  fs::copy(open.run, copy, fs::copy_options::recursive);
  open.run = copy;
  const platform::Platform platform = platform::parse_platform("ordered/1t").value();
  copy_ = run::RunWitness::open(open, platform, {true}).value();
  challenger_run_ = run::RunWitness::open(open, platform, {false, std::nullopt, copy_.get()}).value();
  if (difference != Difference::kMissing) damage_log(copy);
  challenger_ = std::make_unique<CachedWitness>(*challenger_run_);
}

Material::Material(const std::vector<std::string>& overrides, Difference difference, uint64_t step)
    : Material(job_of(with_near_ties(overrides, difference)),
               text_of("simulated_", static_cast<int>(difference), "_", step, "_",
                       to_hex(commit::sha256(as_bytes(text_of_all(overrides))))),
               difference, step) {}

Material::Material(const train::Job& job, const std::string& folder, Difference difference, uint64_t step)
    : folder_(folder) {
  const fs::path path = folder_ / "run";
  run::TrainRequest request = run::testing::train_request(path, job);
  // An honest platform whose sums fall so is not at hand: what it would have written is made.
  if (difference != Difference::kNone) {
    differs_at_ = step;
    ISOBIT_CHECK(apply_cheat(kAsIf[static_cast<size_t>(difference)], static_cast<int64_t>(step), request).has_value());
  }
  const auto trained = run::train_run(request);
  if (!trained && difference != Difference::kNone) return;  // no near-tie for that
  ISOBIT_CHECK(trained.has_value());
  run::OpenRequest open;
  open.run = path;
  open.client = run::testing::key(kClientSeed).public_key();
  open.job = job;
  run::RunWitness::As as;
  if (difference == Difference::kMissing) as.conduct = request.conduct;
  run_ = run::RunWitness::open(open, platform::parse_platform("ordered/1t").value(), as).value();
  honest_ = std::make_unique<CachedWitness>(*run_);
  if (difference != Difference::kNone) differ(open, difference);
  // The same run under an engagement with a referee.
  verify::EngagementTerms terms = run_->reader().engagement().terms;
  terms.referee_key = run::testing::key(kRefereeSeed).public_key();
  terms.response_seconds = 600;
  terms.restart_seconds = 900;
  subject_ = run::dispute_subject(
      job, verify::make_engagement(terms, run::testing::key(kClientSeed), run::testing::key(kTrainerSeed)).value());
}

}  // namespace isobit::adversary::simulator
