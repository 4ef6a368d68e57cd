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

// A field that a job's bytes leave out because it is not known there cannot be told apart by them.
TEST(JobFields, WhatIsCommittedMayStandInTheFile) {
  for (const char* arithmetic : {"ordered-1", "rounded", "logged-1"}) {
    for (const char* builder : {"resnet", "gpt", "logistic"}) {
      for (int choice = 0; choice < 24; ++choice) {
        Job job;
        job.arithmetic = arithmetic;
        job.model.builder = builder;
        job.data.dataset = choice % 2 ? "text" : "digits";
        job.optimizer = static_cast<Optimizer>(choice % 3);
        job.rounding.log = choice % 4 < 2 ? log::Kind::kOvt : log::Kind::kSparse;
        job.rounding.bound = choice % 8 < 4 ? DivergenceBound::kSound : DivergenceBound::kCalibrated;
        job.rounding.distance = choice < 12;
        for (const Field& field : job_fields()) {
          if (!field.committed_in(job)) continue;
          EXPECT_TRUE(field.rules.known.holds(job) && field.rules.allowed.holds(job)) << field.name;
        }
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
  const std::string help = job_fields_help();
  for (const Field& field : job_fields()) {
    EXPECT_NE(help.find(std::string(field.key())), std::string::npos) << field.name;
  }
  EXPECT_NE(help.find("  schedule    name, warmup, every, factor, min_lr\n"), std::string::npos) << help;
}

}  // namespace
}  // namespace isobit::train
