#include "isobit/run/job_digest.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace isobit::run {
namespace {

using train::Job;

Job digits(const std::vector<std::string>& overrides) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  return train::load_job(std::string(source ? source : ".") + "/examples/jobs/digits.toml", overrides).value();
}

// tests/oracles/job_oracle.py, which shares no code with isobit, checks the same file.
TEST(JobDigest, EqualsTheIndependentEncoder) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  const std::string root = source ? source : ".";
  std::ifstream file(root + "/tests/golden/job.txt");
  ASSERT_TRUE(file) << "run from the root of the tree, or set ISOBIT_SOURCE_DIR";
  int checked = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string digest, path;
    in >> digest >> path;
    std::vector<std::string> overrides;
    for (std::string item; in >> item;) overrides.push_back(item);
    const auto job = train::load_job(root + "/" + path, overrides);
    ASSERT_TRUE(job) << line << ": " << job.error().message;
    EXPECT_EQ(commit::hex_of(job_digest(*job)), digest) << line;
    ++checked;
  }
  EXPECT_GE(checked, 15);
}

TEST(JobDigest, SpelledOutDefaultsAreTheSameJob) {
  const Job plain = digits({"job.arithmetic=logged-1"});
  EXPECT_EQ(job_digest(plain), job_digest(digits({"job.arithmetic=logged-1", "rounding.divergence=32",
                                                  "optimizer.nesterov=false", "optimizer.clip_norm=0"})));
  EXPECT_EQ(job_digest(plain), job_digest(train::parse_job(train::job_to_toml(plain), "again", "").value()));
}

TEST(JobDigest, TheOrderOfAugmentationsMeansNothing) {
  const Job one = digits({"data.augment=[\"crop\", \"flip\"]"}), other = digits({"data.augment=[\"flip\", \"crop\"]"});
  EXPECT_EQ(job_digest(one), job_digest(other));
  EXPECT_EQ(job_to_toml(one), job_to_toml(other));
  EXPECT_NE(job_digest(one), job_digest(digits({"data.augment=[\"crop\"]"})));
}

TEST(JobDigest, WhatHasNoMeaningForTheJobIsNotInIt) {
  const auto same = [](const std::string& arithmetic, const std::string& log, const std::string& field) {
    const std::vector<std::string> base = {"job.arithmetic=" + arithmetic, "rounding.log=" + log};
    std::vector<std::string> more = base;
    more.push_back(field);
    return job_digest(digits(base)) == job_digest(digits(more));
  };
  EXPECT_TRUE(same("logged-1", "sparse", "rounding.threshold=0.125"));
  EXPECT_FALSE(same("logged-1", "ovt", "rounding.threshold=0.125"));
  EXPECT_FALSE(same("logged-1", "sparse", "rounding.divergence=16"));
  EXPECT_FALSE(same("logged-1", "ovt", "rounding.divergence=16"));
  EXPECT_FALSE(same("logged-1", "ovt", "rounding.distance=false"));
  const std::vector<std::string> published = {"job.arithmetic=logged-1", "rounding.log=ovt", "rounding.distance=false"};
  std::vector<std::string> with_divergence = published;
  with_divergence.emplace_back("rounding.divergence=16");
  EXPECT_EQ(job_digest(digits(published)), job_digest(digits(with_divergence)));
  EXPECT_EQ(job_digest(digits({"data.path=\"elsewhere\"", "checkpoint.every=7"})), job_digest(digits({})));
}

}  // namespace
}  // namespace isobit::run
