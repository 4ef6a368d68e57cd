// What a job commits to: digests of everything its paths name. Byte layouts: docs/formats/job.md.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "isobit/commit/hash.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/data/dataset.h"
#include "isobit/data/sample_check.h"
#include "isobit/run/job_size.h"
#include "isobit/train/job.h"
#include "isobit/train/trace_schema.h"
#include "isobit/train/trainer.h"
#include "isobit/verify/job_parts.h"
#include "isobit/verify/shown_batch.h"
#include "isobit/verify/transcript.h"

namespace isobit::run {

// The dataset, sample by sample. The leaves stay at hand for batch commitments, and for samples that are read again.
struct DatasetCommitment {
  verify::DatasetTrees trees;
  commit::Digest root{};  // of them
  std::vector<commit::Digest> train_leaves, test_leaves;
};

// The salt of the dataset: the file that the job names, else the public salt, which protects nothing (right for data
// that are public anyway). kUnreadable when the file is not 64 hex digits.
Expected<commit::Salt> dataset_salt(const train::Job& job);

// Sample i of a split is hashed with a salt of its own, derived from the dataset's, so that one sample can be shown
// without baring the others. Parallel; the same for any number of threads. Samples are hashed as they are read: what is
// held beside them are the leaves, 32 bytes a sample. Errors: those of data::Dataset::sample_bytes, of the first
// sample.
Expected<DatasetCommitment> commit_dataset(const data::Dataset& dataset, const commit::Salt& salt, ThreadPool& pool);

// That a sample has the leaf that the commitment has of it. kUnavailable, with the sample, where it has another: the
// files were changed after they were committed to, which says nothing of who signed for a run.
data::SampleCheck check_of_leaves(std::shared_ptr<const DatasetCommitment> commitment, const commit::Salt& salt);

// Of one step: the samples of its batch, in order.
commit::Digest batch_digest(const DatasetCommitment& dataset, int64_t step, std::span<const int64_t> indices);

// Of a trainer; nothing where it freezes nothing.
Expected<std::optional<verify::FrozenParameters>> frozen_parameters(const train::Trainer& trainer, ThreadPool& pool);

// The graphs of inference that a network from a file becomes for every batch that is scored or exported. One that it
// cannot become is zeros: nothing is scored or exported by it either. kUnavailable where that is not known, for want of
// memory.
Expected<std::vector<verify::ScoredGraph>> scored_graphs(const train::Job& job, const data::Dataset& dataset,
                                                         const models::Network& network, ThreadPool& pool);

// What the job root of a trainer at step 0 with that state is made of. kUnreadable: the network cannot be evaluated.
// kUnavailable: this process may not take the memory that telling takes.
Expected<verify::JobRootParts> job_root_parts(const train::Trainer& trainer, const DatasetCommitment& commitment,
                                              const commit::Digest& initial_state, const models::Network& network,
                                              ThreadPool& pool);

// The shape of the job's transcript.
verify::TranscriptRules transcript_rules(const train::Job& job);

// Everything that training or replaying a job needs, opened once. Samples that the dataset reads from the disk are
// those of the commitment, or an error (check_of_leaves).
struct Session {
  train::Job job;
  std::shared_ptr<const data::Dataset> dataset;
  std::shared_ptr<const models::Network> network;
  std::shared_ptr<const DatasetCommitment> commitment;
  std::unique_ptr<train::Trainer> trainer;  // at step 0
  commit::Digest initial_state{};
  verify::JobRootParts parts;
  commit::Digest root{};  // of the parts

  // state_digest() of the trainer, computed once for a state.
  Expected<commit::Digest> state_root(ThreadPool& pool);
  // The same for a state whose root is known from where it was read.
  void note_state_root(const commit::Digest& known) { hashed_ = {trainer->revision(), known}; }
  // A trainer at step 0, in place of the one there is. kUnavailable: the files of the network are not any more what
  // they were.
  Status begin_anew(platform::Engine& engine);

 private:
  struct Hashed {
    uint64_t revision = 0;
    commit::Digest root{};
  };
  std::optional<Hashed> hashed_;  // of the trainer
};

// What a session is opened for, and thus how much memory it takes.
enum class Purpose { kTrain, kAudit };

// Data that take more than the limit are not read, and of a job that does nothing is allocated: kUnavailable. Other
// errors: as open_dataset, open_network and Trainer::create; to train, as train::check_evaluation.
Expected<Session> open_session(const train::Job& job, platform::Engine& engine, const Limits& limits = {},
                               Purpose purpose = Purpose::kTrain);

// kRejected, with what may be another, when the session has another root than an engagement says.
Status check_job_root(const Session& session, const commit::Digest& engaged);

// commit::StateRoot::digest() of the trainer's state at its step.
Expected<commit::Digest> state_digest(const train::Trainer& trainer, ThreadPool& pool);

}  // namespace isobit::run
