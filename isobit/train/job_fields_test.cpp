#include "isobit/train/job_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "isobit/base/text.h"

namespace isobit::train {
namespace {

TEST(JobFields, EveryDeclarationIsWhole) {
  Job job;
  std::set<std::string_view> names;
  std::vector<std::string> tables;
  for (const Field& field : job_fields()) {
    const FieldRules& rules = field.rules;
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " is declared twice";
    EXPECT_EQ(std::ranges::count(field.name, '.'), 1) << field.name;
    EXPECT_NE(*rules.meaning, 0) << field.name;
    const Place place = field.in(job);
    const bool whole = std::holds_alternative<int64_t*>(place) || std::holds_alternative<uint64_t*>(place);
    const bool real = std::holds_alternative<double*>(place) || std::holds_alternative<Numbers*>(place);
    const bool named = std::holds_alternative<Choice>(place) || std::holds_alternative<Numbers*>(place);
    EXPECT_EQ(whole, rules.whole.least < rules.whole.most) << field.name;
    EXPECT_EQ(real, rules.real.least < rules.real.most) << field.name;
    EXPECT_TRUE(!named || (rules.names != nullptr && !rules.names().empty())) << field.name;
    EXPECT_EQ(rules.refused != nullptr, rules.allowed.holds != kEveryJob.holds) << field.name;
    // The order of reading: a table is not left and taken up again.
    const std::string table(field.table());
    if (tables.empty() || tables.back() != table) {
      EXPECT_EQ(std::ranges::count(tables, table), 0) << field.name;
      tables.push_back(table);
    }
  }
  EXPECT_EQ(tables, job_tables());
  EXPECT_EQ(find_job_field("schedule", "every")->name, "schedule.every");
  EXPECT_EQ(find_job_field("schedule", "evry"), nullptr);
}

// What docs/formats/job.md says of the fields that are in a job's bytes, in words of this test's own.
std::set<std::string_view> committed_names(const Job& job) {
  std::set<std::string_view> names = {"job.name",       "job.seed",         "job.steps",
                                      "job.arithmetic", "model.builder",    "data.dataset",
                                      "data.batch",     "evaluate.samples", "commit.every",
                                      "optimizer.name", "optimizer.lr",     "optimizer.weight_decay",
                                      "schedule.name",  "schedule.warmup",  "optimizer.clip_norm"};
  if (job.model.builder == "resnet") names.insert({"model.blocks", "model.width"});
  const bool normed = job.model.builder == "resnet" || job.model.builder == "vgg11-bn";
  if (normed && job.model.running_variance != models::RunningVariance::kBiased) {
    names.insert("model.running_variance");
  }
  const bool gpt = job.model.builder == "gpt2";
  if (gpt) names.insert({"model.layers", "model.heads", "model.channels"});
  if (gpt && job.model.positions != 0) names.insert("model.positions");
  if (job.model.builder == "vgg11-bn") names.insert("model.form");
  if (gpt || job.model.builder == "vgg11-bn") names.insert("model.dropout");
  names.insert(job.data.dataset == "text" ? "data.context" : "data.augment");
  if (job.data.dataset == "text" && job.data.tokenizer != data::Tokenizer::kBytes) names.insert("data.tokenizer");
  if (job.optimizer == Optimizer::kSgd) {
    names.insert({"optimizer.momentum", "optimizer.nesterov"});
  } else {
    names.insert({"optimizer.beta1", "optimizer.beta2", "optimizer.epsilon"});
  }
  if (job.schedule == Schedule::kStep) names.insert({"schedule.every", "schedule.factor"});
  if (job.schedule == Schedule::kCosine || job.schedule == Schedule::kLinear) names.insert("schedule.min_lr");
  if (job.micro_batches != 1) names.insert("data.micro_batches");
  if (!job.groups.empty()) names.insert("optimizer.group");
  if (job.arithmetic == "rounded" || job.arithmetic == "logged-1") names.insert("rounding.bits");
  if (job.arithmetic != "logged-1") return names;
  names.insert("rounding.log");
  const bool ovt = job.rounding.log == log::Kind::kOvt;
  if (ovt) names.insert({"rounding.threshold", "rounding.thresholds", "rounding.distance"});
  if (ovt && !job.rounding.distance) return names;  // the published scheme asks for no bound
  names.insert("rounding.bound");
  if (job.rounding.bound == DivergenceBound::kCalibrated) {
    names.insert({"rounding.divergence", "rounding.divergences"});
  }
  return names;
}

TEST(JobFields, WhatAJobCommitsToIsWhatThePageSays) {
  for (const char* arithmetic : {"ordered-1", "correct-1", "rounded", "logged-1"}) {
    for (const char* builder : {"resnet", "gpt2", "logistic", "vgg11-bn"}) {
      for (int choice = 0; choice < 72; ++choice) {
        Job job;
        job.arithmetic = arithmetic;
        job.model.builder = builder;
        job.model.running_variance =
            choice % 5 < 2 ? models::RunningVariance::kUnbiased : models::RunningVariance::kBiased;
        job.data.dataset = choice % 2 ? "text" : "digits";
        job.data.tokenizer = choice % 4 < 2 ? data::Tokenizer::kBytes : data::Tokenizer::kGpt2;
        job.model.positions = choice % 3 == 0 ? 0 : 1024;
        job.optimizer = static_cast<Optimizer>(choice % 3);
        job.schedule = static_cast<Schedule>(choice / 3 % 4);
        job.micro_batches = choice % 7 < 3 ? 1 : 2;
        if (choice % 5 == 0) job.groups.push_back({"*", 1, std::nullopt});
        job.evaluate_every = choice % 2;
        job.rounding.log = choice % 4 < 2 ? log::Kind::kOvt : log::Kind::kSparse;
        job.rounding.bound = choice % 8 < 4 ? DivergenceBound::kSound : DivergenceBound::kCalibrated;
        job.rounding.distance = choice < 36;
        std::set<std::string_view> committed;
        for (const Field& field : job_fields()) {
          if (field.committed_in(job)) committed.insert(field.name);
        }
        ASSERT_EQ(committed, committed_names(job)) << arithmetic << " " << builder << " " << choice;
      }
    }
  }
}

// docs/formats/job.md holds the table, word by word.
TEST(JobFields, ThePageSaysWhatIsDeclared) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  const std::string path = std::string(source ? source : ".") + "/docs/formats/job.md";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("\n\n" + job_fields_page() + "\n"), std::string::npos)
      << path << " should have this table:\n"
      << job_fields_page();
}

TEST(JobFields, HelpNamesEveryField) {
  EXPECT_EQ(job_fields_help(), R"(  job         name, seed, epochs, steps, arithmetic
  model       onnx, builder, outputs, weights, loss, label_smoothing, huber_delta, freeze, batch_norm, blocks,
              width, form, running_variance, layers, heads, channels, positions, dropout
  data        dataset, batch, micro_batches, context, tokenizer, augment, target, classes, bytes, height,
              width, channels, path, labels_path, test_path, test_labels_path, inputs, test_inputs, encoder,
              merges, token_cache, salt, files, test_files
  optimizer   name, lr, weight_decay, clip_norm, momentum, nesterov, beta1, beta2, epsilon, group
  schedule    name, warmup, every, factor, min_lr
  rounding    bits, log, bound, divergence, divergences, distance, threshold, thresholds
  commit      every
  checkpoint  every, keep
  evaluate    samples, every
)");
}

}  // namespace
}  // namespace isobit::train
