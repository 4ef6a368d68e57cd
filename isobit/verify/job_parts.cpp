#include "isobit/verify/job_parts.h"

#include "isobit/base/fields.h"
#include "isobit/base/frame.h"

namespace isobit::verify {
namespace {

// What "the same arithmetic" means besides the arithmetic's own version; a change of any of these changes job roots.
constexpr std::string_view kVersions =
    "generator:philox4x32-10/1 samples:1 preprocessing:1 tensor-root:1 graph:2 trace:1";

constexpr std::string_view kJobPartsTag = "isobit.job-root-parts";
constexpr uint32_t kJobPartsVersion = 1;

}  // namespace

commit::Digest job_root(const JobRootParts& parts) {
  FieldWriter w;
  w.digest("job", parts.job);
  w.digest("dataset.root", parts.dataset);
  w.u64("dataset.train", parts.train_samples);
  w.u64("dataset.test", parts.test_samples);
  w.digest("graph.step", parts.step_graph);
  w.digest("graph.eval", parts.eval_graph);
  if (parts.graphs_scored) w.digest("graph.scored", *parts.graphs_scored);
  if (parts.trace_schema) w.digest("trace", *parts.trace_schema);
  w.digest("state.initial", parts.initial_state);
  if (parts.frozen) {
    w.u64("frozen.count", parts.frozen->count);
    w.digest("frozen.root", parts.frozen->root);
  }
  w.text("versions", kVersions);
  return commit::tagged_hash("isobit.job-root", 2, w.bytes());
}

commit::Digest scored_graphs_digest(const std::vector<ScoredGraph>& graphs) {
  ByteWriter w;
  for (const ScoredGraph& g : graphs) {
    w.i64(g.batch);
    w.fixed(g.root);
  }
  return commit::tagged_hash("isobit.scored-graphs", 1, w.view());
}

Bytes encode(const JobRootParts& parts) {
  ByteWriter w;
  write_frame(w, kJobPartsTag, kJobPartsVersion);
  w.fixed(parts.job);
  w.fixed(parts.dataset);
  w.u64(parts.train_samples);
  w.u64(parts.test_samples);
  w.fixed(parts.step_graph);
  w.fixed(parts.eval_graph);
  commit::write_optional_digest(w, parts.graphs_scored);
  commit::write_optional_digest(w, parts.trace_schema);
  w.fixed(parts.initial_state);
  w.boolean(parts.frozen.has_value());
  if (parts.frozen) {
    w.u64(parts.frozen->count);
    w.fixed(parts.frozen->root);
  }
  return w.take();
}

Expected<JobRootParts> decode_job_root_parts(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kJobPartsTag, kJobPartsVersion));
  JobRootParts parts;
  ISOBIT_TRY(parts.job, commit::read_digest(r, "job"));
  ISOBIT_TRY(parts.dataset, commit::read_digest(r, "dataset.root"));
  ISOBIT_TRY(parts.train_samples, r.u64("dataset.train"));
  ISOBIT_TRY(parts.test_samples, r.u64("dataset.test"));
  ISOBIT_TRY(parts.step_graph, commit::read_digest(r, "graph.step"));
  ISOBIT_TRY(parts.eval_graph, commit::read_digest(r, "graph.eval"));
  ISOBIT_TRY(parts.graphs_scored, commit::read_optional_digest(r, "graph.scored"));
  ISOBIT_TRY(parts.trace_schema, commit::read_optional_digest(r, "trace"));
  ISOBIT_TRY(parts.initial_state, commit::read_digest(r, "state.initial"));
  ISOBIT_TRY(const bool frozen, r.boolean("frozen"));
  if (frozen) {
    parts.frozen.emplace();
    ISOBIT_TRY(parts.frozen->count, r.u64("frozen.count"));
    ISOBIT_TRY(parts.frozen->root, commit::read_digest(r, "frozen.root"));
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return parts;
}

}  // namespace isobit::verify
