#include "isobit/lab/explain/replay.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/base/thread_pool.h"
#include "isobit/lab/deviation/dendrogram.h"
#include "isobit/lab/measure/subject.h"
#include "isobit/onnx/import.h"
#include "isobit/tensor/dtype_named.h"

namespace isobit::lab::explain {
namespace {

// None for a type that is none of ours.
std::optional<onnx::TypeDef> type_of(const records::ValueRecord& value) {
  const auto dtype = dtype_named(value.dtype);
  if (!dtype) return std::nullopt;
  onnx::TypeDef type{onnx::TypeDef::Kind::kTensor, onnx::element_of_dtype(*dtype), true, {}};
  for (const int64_t extent : value.dims) type.dims.push_back({extent, ""});
  return type;
}

// The tensor that a record describes; none where the bytes are not its.
std::optional<Tensor> tensor_of(const records::ValueRecord& value, const Bytes& bytes) {
  const auto dtype = dtype_named(value.dtype);
  if (!dtype || !checked_elements(value.dims, *dtype, bytes.size())) return std::nullopt;
  Tensor tensor(*dtype, Shape(value.dims));
  if (tensor.bytes() != bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(tensor.raw()));
  return tensor;
}

}  // namespace

int Replay::class_count() const { return classes.empty() ? 0 : std::ranges::max(classes); }

Origin Replay::origin() const {
  if (!reproduced || platforms.size() < 2) return Origin::kUnknown;
  return class_count() > 1 ? Origin::kIntroduced : Origin::kInherited;
}

Expected<onnx::Model> measured_model(const records::Subject& subject, const InferenceRequest& request) {
  if (subject.kind != records::SubjectKind::kInference || !subject.model_sha256) {
    return usage_error("--model: these runs are no inference of a model whose hash was recorded; leave it out");
  }
  const fs::path& file = request.model;
  ISOBIT_TRY(const commit::Digest found, measure::sha256_of_file(file));
  if (found != *subject.model_sha256) {
    return usage_error(text_of("--model: ", file.string(), " has the SHA-256 ", commit::hex_of(found),
                               ", the model that was measured ", commit::hex_of(*subject.model_sha256),
                               "; name that one"));
  }
  ISOBIT_TRY(onnx::Model model, onnx::load_model(file, onnx::load_options_within(request.max_memory)));
  ISOBIT_TRY(const std::string settings, measure::settings_of(file, model));
  if (settings != subject.settings) {
    return usage_error(text_of("--model: beside ", file.string(), " are ", settings.empty() ? "no weights" : settings,
                               ", measured were ", subject.settings.empty() ? "none" : subject.settings,
                               "; name the model with those"));
  }
  return model;
}

Replayer Replayer::open(const Explanation& explanation, const deviation::TensorSource& tensors,
                        const ReplayRequest& request, onnx::Model model) {
  const records::Subject& subject = explanation.comparison.subject;
  Replayer replayer(explanation, tensors, request);
  replayer.model_ = std::move(model);
  ThreadPool pool(1);
  const auto inputs = inputs_of(request.inference, replayer.model_, pool);
  if (!inputs) {
    replayer.why_no_inputs_ = inputs.error().message;
  } else if (subject.input_sha256 && measure::digest_of(*inputs) != *subject.input_sha256) {
    replayer.why_no_inputs_ = "the inputs are not those that were measured (--input, --seed, --dim)";
  }
  return replayer;
}

std::vector<PlatformHere> platforms_here(const Explanation& explanation,
                                         const std::map<std::string, OwnPlatform>& own) {
  std::vector<PlatformHere> found;
  for (size_t p = 0; p < explanation.comparison.platforms.size(); ++p) {
    const records::PlatformRecord& record = explanation.comparison.platforms[p].record;
    const bool recorded =
        std::ranges::any_of(explanation.trace.values, [&](const auto& v) { return v.at[p] != nullptr; });
    if (!recorded) continue;
    if (const auto given = own.find(record.name); given != own.end()) {
      found.push_back({{given->second.platform, given->second.arithmetic}, p, given->second.backend});
      continue;
    }
    if (record.name.find('~') != std::string::npos) continue;  // an emulated processor is not this machine's
    // An arithmetic other than the usual one stands behind a colon.
    const auto here = platform::parse_platform(record.name.substr(0, record.name.find(':')));
    if (here) found.push_back({{*here, arithmetic_of(record)}, p, &backends::native()});
  }
  return found;
}

// By name: values that a replay may begin with. A value that one of the platforms lacks is computed instead.
std::map<std::string, const deviation::TracedValue*> Replayer::common_values(const Replays& replays) const {
  std::map<std::string, const deviation::TracedValue*> values;
  for (const deviation::TracedValue& value : explanation_->trace.values) {
    const bool everywhere =
        std::ranges::all_of(replays.platforms, [&](const auto& p) { return value.at[p.place] != nullptr; });
    const auto [place, is_new] = values.emplace(value.name, everywhere && value.step == 0 ? &value : nullptr);
    if (!is_new) place->second = nullptr;  // of a loop, which makes several of one name
  }
  std::erase_if(values, [](const auto& entry) { return entry.second == nullptr; });
  return values;
}

void Replayer::cut_forks(Replays& replays) {
  std::map<std::string, onnx::TypeDef> types;
  for (const auto& [name, value] : values_) {
    if (const auto type = type_of(*value->at[replays.reference->place])) types.emplace(name, *type);
  }
  for (size_t f = 0; f < explanation_->forks.size(); ++f) {
    const deviation::TracedValue& value = explanation_->trace.values[explanation_->forks[f].value];
    if (!values_.contains(value.name)) continue;  // not recorded by all of them
    if (replays.forks.size() == request_->most_forks) {
      ++replays.beyond;
      continue;
    }
    Replay replay;
    replay.fork = f;
    auto part = cut(model_, {value.name}, types);
    if (part) {
      replay.nodes = part->nodes;
      parts_.emplace(f, *std::move(part));
    } else {
      replay.problem = part.error().message;
    }
    replays.forks.push_back(std::move(replay));
  }
}

// What labs hold of a part's inputs goes to feeds_; what they do not, to `missing`.
Status Replayer::gather(const Part& part, const Replays& replays, std::set<std::string>& missing) {
  missing.insert(part.given.begin(), part.given.end());
  for (const std::string& name : part.values) {
    if (feeds_.contains(name)) continue;
    const records::ValueRecord& record = *values_.at(name)->at[replays.reference->place];
    ISOBIT_TRY(const std::optional<Bytes> bytes, (*tensors_)(record.hash));
    std::optional<Tensor> tensor = bytes ? tensor_of(record, *bytes) : std::nullopt;
    if (!tensor) {
      missing.insert(name);
      continue;
    }
    held_ += tensor->bytes();
    if (held_ > request_->most_bytes) return unavailable("the inputs of what is to be replayed take too much memory");
    feeds_.emplace(name, *std::move(tensor));
  }
  return {};
}

// What the parts are fed: tensors of the labs, and whatever is not there as the reference computes it once more. Where
// the inputs that were measured are not here, nothing can be computed from them. `doubt`: why the records of the
// reference are not to be gone by, where that is the error.
Status Replayer::feed(Replays& replays, std::string& doubt) {
  std::set<std::string> missing;
  for (Replay& replay : replays.forks) {
    const auto part = parts_.find(replay.fork);
    if (part == parts_.end()) continue;
    std::set<std::string> of_part;
    ISOBIT_RETURN_IF_ERROR(gather(part->second, replays, of_part));
    if (!of_part.empty() && !why_no_inputs_.empty()) {
      replay.problem = why_no_inputs_;
      replays.without_inputs = why_no_inputs_;
      parts_.erase(part);
      continue;
    }
    missing.merge(of_part);
  }
  if (missing.empty()) return {};
  ISOBIT_TRY(Feeds computed,
             values_in_child(request_->inference, model_, {missing.begin(), missing.end()}, replays.reference->platform,
                             replays.reference->arithmetic, request_->most_bytes - held_, *replays.reference->backend));
  for (auto& [name, tensor] : computed) {
    const auto value = values_.find(name);
    if (value != values_.end() && hash_of(tensor) != value->second->at[replays.reference->place]->hash) {
      const deviation::PlatformResult& of = explanation_->comparison.platforms[replays.reference->place];
      doubt = text_of("what was recorded of ", shortened(of.label), " does not come out again here (at '",
                      shortened(name), "'): another library or machine, or a false record");
      return unavailable(doubt);
    }
    feeds_.emplace(name, std::move(tensor));
  }
  return {};
}

void Replayer::run(Replays& replays) {
  std::vector<PartCall> calls;
  std::vector<size_t> places;  // of replays.forks
  for (size_t i = 0; i < replays.forks.size(); ++i) {
    const auto part = parts_.find(replays.forks[i].fork);
    if (part == parts_.end()) continue;
    calls.push_back({&part->second.model, &feeds_});
    places.push_back(i);
  }
  std::erase_if(replays.platforms, [&](const PlatformHere& native) {
    const auto results = run_parts_in_child(calls, native.platform, native.arithmetic, *native.backend);
    if (!results) {
      replays.remarks.push_back(results.error().message);
      return true;
    }
    for (size_t c = 0; c < calls.size(); ++c) {
      const PartResult& result = (*results)[c];
      Replay& replay = replays.forks[places[c]];
      if (!result.error.empty()) {
        if (replay.problem.empty()) replay.problem = text_of(native.platform.text(), ": ", result.error);
        continue;
      }
      replay.platforms.push_back(native.place);
      replay.results.push_back(result.outputs.front());
    }
    return false;
  });
}

std::vector<size_t> Replayer::with_inputs_of_reference(const Replays& replays, const Replay& replay) const {
  std::vector<size_t> found;
  for (size_t p = 0; p < explanation_->comparison.platforms.size(); ++p) {
    const bool same = std::ranges::all_of(part(replay).values, [&](const std::string& name) {
      const std::vector<int>& classes = values_.at(name)->classes;
      return classes[p] == classes[replays.reference->place];
    });
    if (same) found.push_back(p);
  }
  return found;
}

// Whether what was recorded came out again, and who agrees with whom.
void Replayer::judge(Replays& replays) const {
  for (Replay& replay : replays.forks) {
    const auto part = parts_.find(replay.fork);
    if (part == parts_.end() || replay.platforms.empty()) continue;
    const deviation::TracedValue& made = explanation_->trace.values[explanation_->forks[replay.fork].value];
    std::vector<bool> again(replay.platforms.size(), true);
    for (size_t i = 0; i < replay.platforms.size(); ++i) {
      const size_t p = replay.platforms[i];
      const bool same = std::ranges::all_of(part->second.values, [&](const std::string& name) {
        const std::vector<int>& classes = values_.at(name)->classes;
        return classes[p] == classes[replays.reference->place];
      });
      if (!same) continue;
      ++replay.same_inputs;
      again[i] = replay.results[i] == made.at[p]->hash;
      if (!again[i]) replay.not_again.push_back(p);
    }
    const size_t doubted = replay.not_again.size();
    replay.reproduced = replay.same_inputs > doubted && (doubted == 0 || replay.platforms.size() - doubted >= 2);
    if (replay.reproduced && doubted > 0) {
      size_t left = 0;
      for (size_t i = 0; i < again.size(); ++i) {
        if (!again[i]) continue;
        replay.platforms[left] = replay.platforms[i];
        replay.results[left++] = replay.results[i];
      }
      replay.platforms.resize(left);
      replay.results.resize(left);
      replay.same_inputs -= doubted;
    }
    replay.classes = deviation::number_classes(replay.results);
  }
}

Expected<Replays> Replayer::replay() {
  Replays replays;
  replays.platforms = platforms_here(*explanation_, request_->own);
  if (replays.platforms.size() < 2) {
    replays.problem = "fewer than two of the platforms whose operators were recorded are platforms of this machine";
    return replays;
  }
  values_ = common_values(replays);
  // A stranger's record must not keep the others from being looked at: the first one that fits what is computed here.
  const std::vector<PlatformHere> candidates = replays.platforms;
  for (const PlatformHere& candidate : candidates) {
    replays.reference = candidate;
    replays.forks.clear(), replays.beyond = 0, replays.without_inputs.clear();
    parts_.clear(), feeds_.clear(), held_ = 0;
    cut_forks(replays);
    std::string doubt;
    const Status fed = feed(replays, doubt);
    replays.problem = fed ? "" : fed.error().message;
    if (doubt.empty()) break;
    replays.doubts.push_back(doubt);
  }
  if (!replays.problem.empty()) return replays;
  // The reference is the first.
  std::ranges::stable_partition(replays.platforms, [&](const auto& p) { return p.place == replays.reference->place; });
  run(replays);
  judge(replays);
  return replays;
}

Expected<records::Hash128> Replayer::bits_on(const Replay& replay, const PlatformHere& platform) const {
  ISOBIT_TRY(const auto results, run_parts_in_child({{&part(replay).model, &feeds_}}, platform.platform,
                                                    platform.arithmetic, *platform.backend));
  if (!results.front().error.empty()) return unavailable(results.front().error);
  return results.front().outputs.front();
}

}  // namespace isobit::lab::explain
