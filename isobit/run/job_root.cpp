#include "isobit/run/job_root.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "isobit/backends/backend.h"
#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/network.h"
#include "isobit/train/check_evaluation.h"
#include "isobit/verify/graph_tree.h"
#include "isobit/verify/schema.h"

namespace isobit::run {

namespace {

Expected<std::vector<commit::Digest>> sample_leaves(const data::Dataset& dataset, const commit::Salt& salt,
                                                    data::Split split, ThreadPool& pool) {
  std::vector<commit::Digest> leaves(static_cast<size_t>(dataset.count(split)));
  std::mutex mutex;
  std::map<int64_t, Error> failed;  // by sample: at most one for each range
  pool.parallel_for(dataset.count(split), 64, [&](int64_t begin, int64_t end) {
    Bytes sample;
    for (int64_t i = begin; i < end; ++i) {
      Status read = dataset.sample_bytes(split, i, sample);
      if (!read) {
        const std::lock_guard lock(mutex);
        failed.emplace(i, std::move(read).error());
        return;
      }
      leaves[static_cast<size_t>(i)] =
          commit::sample_leaf(verify::sample_salt(salt, split, i), static_cast<uint64_t>(i), sample);
    }
  });
  if (!failed.empty()) return tl::unexpected<Error>(std::move(failed.begin()->second));
  return leaves;
}

}  // namespace

Expected<commit::Salt> dataset_salt(const train::Job& job) {
  if (job.salt_path.empty()) return commit::tagged_hash("isobit.public-salt", 1, {});
  ISOBIT_TRY(const Bytes bytes, read_file(job.salt_path, 1 << 10));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.ends_with('\n')) text.remove_suffix(1);
  return commit::digest_from_hex(text, job.salt_path);
}

Expected<DatasetCommitment> commit_dataset(const data::Dataset& dataset, const commit::Salt& salt, ThreadPool& pool) {
  DatasetCommitment commitment;
  ISOBIT_TRY(commitment.train_leaves, sample_leaves(dataset, salt, data::Split::kTrain, pool));
  ISOBIT_TRY(commitment.test_leaves, sample_leaves(dataset, salt, data::Split::kTest, pool));
  const auto tree = [&](const std::vector<commit::Digest>& leaves) {
    return commit::SizedRoot{leaves.size(), commit::merkle_root(leaves, &pool)};
  };
  commitment.trees = {dataset.header_bytes(), tree(commitment.train_leaves), tree(commitment.test_leaves)};
  commitment.root = verify::dataset_root(commitment.trees);
  return commitment;
}

data::SampleCheck check_of_leaves(std::shared_ptr<const DatasetCommitment> commitment, const commit::Salt& salt) {
  return [commitment = std::move(commitment), salt](data::Split split, int64_t index,
                                                    std::span<const ByteView> stored) -> Status {
    const bool trains = split == data::Split::kTrain;
    const auto& leaves = trains ? commitment->train_leaves : commitment->test_leaves;
    const commit::Digest leaf =
        commit::sample_leaf(verify::sample_salt(salt, split, index), static_cast<uint64_t>(index), stored);
    if (leaf == leaves[static_cast<size_t>(index)]) return {};
    return unavailable(text_of("the data: ", trains ? "training" : "test", " sample ", index,
                               " is not what it was when the data were hashed; something has written to their files: ",
                               "put them back, leave them alone, and begin again or resume"));
  };
}

commit::Digest batch_digest(const DatasetCommitment& dataset, int64_t step, std::span<const int64_t> indices) {
  std::vector<commit::Digest> leaves;
  leaves.reserve(indices.size());
  for (int64_t i : indices) leaves.push_back(dataset.train_leaves[static_cast<size_t>(i)]);
  return verify::batch_digest(step, leaves);
}

Expected<std::optional<verify::FrozenParameters>> frozen_parameters(const train::Trainer& trainer, ThreadPool& pool) {
  if (trainer.frozen().empty()) return std::nullopt;
  ISOBIT_TRY(const commit::StateRoot root, commit::state_root(trainer.frozen(), 0, pool));
  return verify::FrozenParameters{trainer.frozen().size(), root.digest()};
}

Expected<std::vector<verify::ScoredGraph>> scored_graphs(const train::Job& job, const data::Dataset& dataset,
                                                         const models::Network& network, ThreadPool& pool) {
  std::vector<verify::ScoredGraph> graphs;
  for (const int64_t batch : train::committed_batches(job, dataset.test_count(), network)) {
    const auto eval = train::build_eval_graph(job, data::shape_of(dataset), batch, network);
    if (!eval && eval.error().code == ErrorCode::kUnavailable) return tl::unexpected(eval.error());
    graphs.push_back({batch, eval ? verify::graph_root(eval->graph, pool) : commit::Digest{}});
  }
  return graphs;
}

Expected<verify::JobRootParts> job_root_parts(const train::Trainer& trainer, const DatasetCommitment& commitment,
                                              const commit::Digest& initial_state, const models::Network& network,
                                              ThreadPool& pool) {
  const train::Job& job = trainer.job();
  const data::Dataset& dataset = trainer.dataset();
  const train::StepGraph& step = trainer.step_graph();
  ISOBIT_TRY(const train::EvalGraph eval, train::build_eval_graph(job, data::shape_of(dataset), network));
  verify::JobRootParts parts{job_digest(job),
                             commitment.root,
                             static_cast<uint64_t>(dataset.train_count()),
                             static_cast<uint64_t>(dataset.test_count()),
                             verify::graph_root(step.graph, pool),
                             verify::graph_root(eval.graph, pool),
                             std::nullopt,
                             initial_state};
  if (step.disputable) parts.trace_schema = verify::schema_root(train::trace_schema(step));
  ISOBIT_TRY(parts.frozen, frozen_parameters(trainer, pool));
  if (!declares_network(job)) {
    ISOBIT_TRY(const auto graphs, scored_graphs(job, dataset, network, pool));
    parts.graphs_scored = verify::scored_graphs_digest(graphs);
  }
  return parts;
}

verify::TranscriptRules transcript_rules(const train::Job& job) {
  return {static_cast<uint64_t>(job.steps), static_cast<uint64_t>(job.commit_every), DType::kFloat32,
          arithmetic_of(job).logs};
}

Expected<commit::Digest> state_digest(const train::Trainer& trainer, ThreadPool& pool) {
  ISOBIT_TRY(const commit::StateRoot root,
             commit::state_root(trainer.state(), static_cast<uint64_t>(trainer.step()), pool));
  return root.digest();
}

Expected<commit::Digest> Session::state_root(ThreadPool& pool) {
  if (!hashed_ || hashed_->revision != trainer->revision()) {
    ISOBIT_TRY(const commit::Digest found, state_digest(*trainer, pool));
    note_state_root(found);
  }
  return hashed_->root;
}

Status Session::begin_anew(platform::Engine& engine) {
  hashed_.reset();
  ISOBIT_TRY(const auto frozen, frozen_parameters(*trainer, engine.pool()));
  const runtime::Recompute recompute = trainer->recompute();
  trainer.reset();  // never two states at a time
  ISOBIT_TRY(trainer, train::Trainer::create(job, dataset, engine, backends::native(), network, recompute));
  if (network->given_bytes() > 0) {
    // They have been read anew.
    ISOBIT_TRY(const commit::Digest found, state_digest(*trainer, engine.pool()));
    ISOBIT_TRY(const auto frozen_now, frozen_parameters(*trainer, engine.pool()));
    if (found != initial_state || frozen_now != frozen) {
      return unavailable("the network's files were changed while they were in use; begin again with what they are now");
    }
  }
  note_state_root(initial_state);
  return {};
}

namespace {

Status check_size(const train::Job& job, const data::DataShape& shape, const models::Network& network,
                  const Limits& limits, Purpose purpose) {
  ISOBIT_TRY(const JobSize size, job_size(job, shape, network, limits.recompute));
  const bool audits = purpose == Purpose::kAudit;
  return check_memory(audits ? size.to_audit : size.to_train, limits, audits ? "audit" : "train");
}

// Whoever trains is told before the first step what could not be scored after the last.
Status check_evaluation(const Session& session, platform::Engine& engine) {
  std::vector<NamedTensor> values = session.trainer->state();
  values.insert(values.end(), session.trainer->frozen().begin(), session.trainer->frozen().end());
  return train::check_evaluation(session.job, *session.dataset, values, engine, backends::native(), *session.network);
}

}  // namespace

Expected<Session> open_session(const train::Job& job, platform::Engine& engine, const Limits& limits, Purpose purpose) {
  ISOBIT_RETURN_IF_ERROR(train::check_in_steps(job, job.name));
  Session session;
  session.job = job;
  ISOBIT_TRY(session.network, open_network(job, limits));
  if (const auto declared = data::declared_shape(job.data)) {
    ISOBIT_RETURN_IF_ERROR(check_size(job, *declared, *session.network, limits, purpose));
  }
  ISOBIT_RETURN_IF_ERROR(transcript_rules(job).check(job.name));
  ISOBIT_TRY(const commit::Salt salt, dataset_salt(job));
  ISOBIT_TRY(std::shared_ptr<data::Dataset> dataset,
             data::open_dataset(job.data, std::min(limits.max_memory, data::kMaxDatasetBytes)));
  session.dataset = dataset;
  ISOBIT_RETURN_IF_ERROR(check_size(job, data::shape_of(*session.dataset), *session.network, limits, purpose));
  ISOBIT_TRY(session.trainer, train::Trainer::create(job, session.dataset, engine, backends::native(), session.network,
                                                     limits.recompute));
  if (purpose == Purpose::kTrain) ISOBIT_RETURN_IF_ERROR(check_evaluation(session, engine));
  ISOBIT_TRY(DatasetCommitment commitment, commit_dataset(*dataset, salt, engine.pool()));
  session.commitment = std::make_shared<const DatasetCommitment>(std::move(commitment));
  data::check_reads(*dataset, check_of_leaves(session.commitment, salt));
  ISOBIT_TRY(session.initial_state, session.state_root(engine.pool()));
  ISOBIT_TRY(session.parts, job_root_parts(*session.trainer, *session.commitment, session.initial_state,
                                           *session.network, engine.pool()));
  session.root = verify::job_root(session.parts);
  return session;
}

Status check_job_root(const Session& session, const commit::Digest& engaged) {
  if (session.root == engaged) return {};
  return rejected(
      text_of("the job of the run, with the reader's data, has root ", commit::hex_of(session.root),
              ", the engagement says ", commit::hex_of(engaged),
              ": the job is the one engaged for, so the dataset differs (the files, or what decodes them), ",
              names_files(session.job) ? "the network or its weights (model.onnx, model.weights), " : "",
              "or the version of the arithmetic"));
}

}  // namespace isobit::run
