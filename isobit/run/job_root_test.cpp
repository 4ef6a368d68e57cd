#include "isobit/run/job_root.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "isobit/data/batch.h"
#include "isobit/data/shown_sample.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/testing.h"
#include "isobit/train/job_paths.h"

namespace isobit::run {
namespace {

// tests/oracles/job_oracle.py, which shares no code with isobit, checks the same file.
TEST(JobRoot, EqualsTheIndependentEncoder) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/golden/job_root.txt");
  ASSERT_TRUE(file) << "run from the root of the tree, or set ISOBIT_SOURCE_DIR";
  int checked = 0, frozen = 0, from_files = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string root;
    in >> root;
    std::map<std::string, std::string> fields;
    for (std::string item; in >> item;) fields[item.substr(0, item.find('='))] = item.substr(item.find('=') + 1);
    const auto digest = [&](const char* name) { return commit::digest_from_hex(fields.at(name), name).value(); };
    verify::JobRootParts parts{digest("job"),
                               digest("dataset.root"),
                               std::stoull(fields.at("dataset.train")),
                               std::stoull(fields.at("dataset.test")),
                               digest("graph.step"),
                               digest("graph.eval"),
                               fields.contains("trace") ? std::optional(digest("trace")) : std::nullopt,
                               digest("state.initial"),
                               std::nullopt};
    if (fields.contains("frozen.count")) {
      parts.frozen = verify::FrozenParameters{std::stoull(fields.at("frozen.count")), digest("frozen.root")};
      ++frozen;
    }
    if (fields.contains("graph.scored")) {
      parts.graphs_scored = digest("graph.scored");
      ++from_files;
    }
    EXPECT_EQ(commit::hex_of(job_root(parts)), root);
    ++checked;
  }
  EXPECT_EQ(checked, 4);
  EXPECT_EQ(frozen, 1);
  EXPECT_EQ(from_files, 1);
}

// What a referee computes of a batch from shown leaves, and of a sample from its bytes, is what the trainer commits to
// and is fed.
TEST(DatasetCommitment, IsWhatShownSamplesLeadTo) {
  const train::Job job = testing::small_job();
  const auto dataset = data::open_dataset(job.data).value();
  ThreadPool pool(1);
  const commit::Salt salt = commit::sha256(as_bytes("salt"));
  const DatasetCommitment commitment = commit_dataset(*dataset, salt, pool).value();
  EXPECT_EQ(verify::dataset_root(commitment.trees), commitment.root);
  const data::BatchOptions options{job.seed, job.batch, data::parse_augment(job.data.augment).value()};
  for (int64_t step = 1; step <= 3; ++step) {
    const data::Batch batch = data::train_batch(*dataset, options, step - 1, pool).value();
    const auto leaves = verify::ShownLeaves::of(commitment.trees, commitment.train_leaves, batch.indices);
    EXPECT_EQ(verify::batch_commitment(leaves, commitment.root, step, batch.indices).value(),
              batch_digest(commitment, step, batch.indices));
    for (int64_t j = 0; j < options.batch; ++j) {
      const auto index = static_cast<uint64_t>(batch.indices[static_cast<size_t>(j)]);
      Bytes bytes;
      ASSERT_TRUE(dataset->sample_bytes(data::Split::kTrain, static_cast<int64_t>(index), bytes));
      const auto shown =
          verify::ShownSample::of(commitment.trees, commitment.train_leaves, index, salt, std::move(bytes));
      ASSERT_TRUE(verify::verify_sample(shown, index, commitment.root));
      const auto samples = data::ShownSamples::open(shown.trees.header, "header").value();
      std::vector<float> row(64);
      int64_t label = -1;
      void* const to[] = {row.data()};
      ASSERT_TRUE(samples.fill(shown.sample, samples.draw(options, step - 1, j).value(), to, &label));
      EXPECT_EQ(std::memcmp(row.data(), batch.inputs[0].data<float>() + j * 64, 64 * sizeof(float)), 0);
      EXPECT_EQ(label, batch.target.data<int64_t>()[j]);
    }
  }
}

TEST(JobPaths, AreTakenOutAndPutBack) {
  train::Job job = testing::small_job();
  job.data.path = "/a";
  job.data.labels_path = "/b";
  job.data.test_files = {"/c", "/d"};
  job.data.inputs = {{"x", "/e"}};
  job.data.test_inputs = {{"x", "/f"}};
  job.salt_path = "/s";
  job.model.onnx = "/m.onnx";
  job.model.weights = "/w";
  job.data.encoder = "/v";
  job.data.merges = "/b";
  job.data.token_cache = "/t";
  const train::JobPaths paths = train::paths_of(job);
  const train::Job bare = train::without_paths(job);
  EXPECT_EQ(train::paths_of(bare), train::JobPaths{});
  EXPECT_EQ(job_digest(bare), job_digest(job));
  EXPECT_EQ(train::paths_of(train::with_paths(bare, paths)), paths);
  // Whoever names data anew names all of them; a salt stays the salt.
  train::Job named = bare;
  named.data.path = "/other";
  train::JobPaths expected;
  expected.path = "/other";
  expected.salt = "/s";
  expected.onnx = "/m.onnx";
  expected.weights = "/w";
  EXPECT_EQ(train::paths_of(train::with_paths(named, paths)), expected);
}

}  // namespace
}  // namespace isobit::run
