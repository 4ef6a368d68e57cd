#include "isobit/adversary/simulator/material_for_test.h"

#include "isobit/base/text.h"
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

Expected<verify::LogTree> CachedWitness::log(uint64_t step) { return computed_.log(step); }

Expected<std::optional<runtime::EntryPlace>> CachedWitness::illegal_entry(uint64_t step) {
  return computed_.illegal_entry(step);
}

Material::Material(const std::vector<std::string>& overrides)
    : folder_(text_of("simulated_", to_hex(commit::sha256(as_bytes(text_of_all(overrides)))))) {
  const train::Job job = job_of(overrides);
  const fs::path path = folder_ / "run";
  const auto trained = run::train_run(run::testing::train_request(path, job));
  ISOBIT_CHECK(trained.has_value());
  run::OpenRequest open;
  open.run = path;
  open.client = run::testing::key(kClientSeed).public_key();
  open.job = job;
  run_ = run::RunWitness::open(open, platform::parse_platform("ordered/1t").value(), {}).value();
  honest_ = std::make_unique<CachedWitness>(*run_);
  // The same run under an engagement with a referee.
  verify::EngagementTerms terms = run_->reader().engagement().terms;
  terms.referee_key = run::testing::key(kRefereeSeed).public_key();
  terms.response_seconds = 600;
  terms.restart_seconds = 900;
  subject_ = run::dispute_subject(
      job, verify::make_engagement(terms, run::testing::key(kClientSeed), run::testing::key(kTrainerSeed)).value());
}

}  // namespace isobit::adversary::simulator
