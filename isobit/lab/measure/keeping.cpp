// The second pass of a sweep: which tensors are worth keeping, and which processes make them once more.
#include <algorithm>
#include <map>
#include <set>

#include "isobit/base/counted.h"
#include "isobit/base/text.h"
#include "isobit/lab/measure/sweep_internal.h"
#include "isobit/lab/records/encoding.h"
#include "isobit/tensor/dtype_named.h"

namespace isobit::lab::measure {
namespace {

using records::Hash128;
using records::RunRecord;
using records::ValueRecord;

// A value of a run by its name; loops make several of one name.
using ValueKey = std::tuple<int64_t, std::string, int>;

// None: of a type that we do not know, or larger than can be kept.
std::optional<uint64_t> bytes_of(const ValueRecord& value) {
  const auto dtype = dtype_named(value.dtype);
  if (!dtype) return {};
  uint64_t bytes = size_of(*dtype);
  for (const int64_t dim : value.dims) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return {};
  }
  return bytes;
}

struct Wanted {
  Hash128 hash;
  uint64_t bytes = 0;
  size_t target = 0;
};

// What platforms made, in the order of execution, and who made it first.
class Made {
 public:
  void add(const RunRecord& run, size_t target) {
    std::map<std::pair<int64_t, std::string>, int> seen;
    for (const ValueRecord& value : run.values) {
      const ValueKey key(value.step, value.name, seen[{value.step, value.name}]++);
      if (!places_.contains(key)) {
        places_[key] = values_.size();
        values_.push_back({value.name, value.is_output, {}});
      }
      Value& at = values_[places_[key]];
      at.is_output |= value.is_output;
      const bool known = std::ranges::any_of(at.classes, [&](const Wanted& w) { return w.hash == value.hash; });
      const auto bytes = bytes_of(value);
      if (!known && bytes) at.classes.push_back({value.hash, *bytes, target});
    }
  }

  std::vector<Wanted> wanted(Keep keep, const std::vector<records::GraphNode>& nodes) const {
    std::set<std::string> names;
    for (const Value& v : values_) {
      if (v.is_output || v.classes.size() > 1) names.insert(v.name);
    }
    // So that an operator can be run again on what it was given.
    std::set<std::string> operands;
    for (const records::GraphNode& node : nodes) {
      const bool forks = std::ranges::any_of(node.outputs, [&](const std::string& o) { return names.contains(o); });
      if (forks) operands.insert(node.inputs.begin(), node.inputs.end());
    }
    names.merge(operands);
    std::vector<Wanted> all;
    for (const bool output : {true, false}) {  // outputs first: distances are theirs
      for (const Value& v : values_) {
        const bool keeps = keep == Keep::kAll || names.contains(v.name);
        if (v.is_output == output && keeps) all.insert(all.end(), v.classes.begin(), v.classes.end());
      }
    }
    return all;
  }

 private:
  struct Value {
    std::string name;
    bool is_output = false;
    std::vector<Wanted> classes;
  };
  std::vector<Value> values_;
  std::map<ValueKey, size_t> places_;
};

Expected<Made> made_of(SweepState& state, const std::vector<Target>& targets) {
  ISOBIT_TRY(const std::vector<RunRecord> runs, own_runs(state));
  Made made;
  for (size_t t = 0; t < targets.size(); ++t) {
    for (const RunRecord& run : runs) {
      if (run.repeat == 0 && run.error.empty() && is_of(state, targets[t], run.platform)) made.add(run, t);
    }
  }
  return made;
}

// One process for each platform that is to make something again.
std::vector<Task> tasks_of(const std::vector<Target>& targets, const WorkerRequest& pattern,
                           const std::vector<Wanted>& wanted) {
  std::map<size_t, std::vector<const Wanted*>> by_target;
  for (const Wanted& w : wanted) by_target[w.target].push_back(&w);
  std::vector<Task> tasks;
  for (const auto& [t, tensors] : by_target) {
    Task task{targets[t], 0, pattern, {}};
    task.request.engine = targets[t].engine;
    task.request.setting = targets[t].setting;
    task.request.platform = targets[t].platform;
    task.request.threads = targets[t].threads;
    for (const Wanted* w : tensors) {
      task.request.keep.push_back(w->hash);
      task.request.keep_bytes += w->bytes;
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

// Takes the tensors out of a task's folder into the lab.
Status take_kept(SweepState& state, const Task& task, std::map<Hash128, uint64_t>& sizes) {
  if (!task.answer || task.answer->outcome != WorkerAnswer::Outcome::kRan) {
    state.request.note(text_of(task.target.platform, ": its tensors are not kept: ",
                               task.answer ? task.answer->words : task.answer.error().message));
    return {};
  }
  size_t taken = 0, unfit = 0;
  std::string problem;  // of the first that is unfit
  for (const Hash128& hash : task.answer->kept) {
    const auto size = sizes.find(hash);
    if (size == sizes.end()) continue;  // nobody asked for it
    const fs::path path = task.folder / file_of(hash);
    const auto bytes = read_file(path, size->second, Links::kRefuse);
    if (!bytes || bytes->size() != size->second || records::hash_of(*bytes) != hash) {
      // No other platform's fault, so that the sweep goes on.
      if (problem.empty())
        problem = bytes ? text_of(path.string(), ": not the tensor of that hash") : bytes.error().message;
      ++unfit;
      continue;
    }
    ++taken;
    ISOBIT_TRY(const bool kept, state.lab.keep(*bytes, state.request.max_kept));
    state.report.left_out += !kept;
    state.report.kept_tensors += kept;
    state.report.kept_bytes += kept ? bytes->size() : 0;
    sizes.erase(size);
  }
  const size_t wanted = task.request.keep.size();
  if (unfit > 0) {
    state.request.note(
        text_of(task.target.platform, ": ", unfit, " of ", wanted, " tensors could not be kept: ", problem));
  }
  if (const size_t missing = wanted - std::min(wanted, taken + unfit); missing > 0) {
    state.request.note(text_of(task.target.platform, ": ", missing, " of ", wanted,
                               " tensors came out as other bits in a second process, and are not kept; see --repeat"));
  }
  return {};
}

}  // namespace

Status keep_tensors(SweepState& state, const std::vector<Target>& targets, const WorkerRequest& pattern,
                    const std::vector<records::GraphNode>& nodes) {
  if (state.request.keep == Keep::kNone) return {};
  ISOBIT_TRY(const Made made, made_of(state, targets));
  ISOBIT_TRY(const std::vector<Hash128> there, state.lab.kept());
  std::set<Hash128> seen(there.begin(), there.end());
  ISOBIT_TRY(const uint64_t held, state.lab.kept_bytes());
  std::vector<Wanted> wanted;
  std::map<Hash128, uint64_t> sizes;
  uint64_t bytes = 0, left_out = 0, left_out_bytes = 0;
  for (const Wanted& w : made.wanted(state.request.keep, nodes)) {
    if (!seen.insert(w.hash).second) continue;
    if (held + bytes + w.bytes > state.request.max_kept || w.bytes > records::kMaxTensor) {
      ++left_out;
      left_out_bytes += w.bytes;
      continue;
    }
    bytes += w.bytes;
    sizes[w.hash] = w.bytes;
    wanted.push_back(w);
  }
  state.report.left_out = left_out;
  if (left_out > 0) {
    state.request.note(text_of(counted(left_out, "tensor", "tensors"), " of ", human_bytes(left_out_bytes),
                               left_out == 1 ? " is" : " together are", " left out: limit ",
                               human_bytes(state.request.max_kept), " (--max-kept)"));
  }
  if (wanted.empty()) return {};
  std::vector<Task> tasks = tasks_of(targets, pattern, wanted);
  state.request.note(text_of("keeping ", counted(wanted.size(), "tensor", "tensors"), ", at most ", human_bytes(bytes),
                             " in the lab, of ",
                             counted(tasks.size(), "platform that computes", "platforms that compute"), " once more"));
  return run_tasks(state, tasks, "keeping", [&](const Task& task) -> Status {
    ++state.report.again;
    return take_kept(state, task, sizes);
  });
}

}  // namespace isobit::lab::measure
