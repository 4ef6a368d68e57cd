// Operators that forked, run again on this machine: each platform is given the same inputs, those that one of them had.
//
// What differs then is introduced there; where all agree, what was recorded was inherited. Nothing is said of a
// platform that had these very inputs and whose recorded bits do not come out again, nor of a replay where no
// platform's do.
#pragma once

#include <set>

#include "isobit/lab/explain/explanation.h"
#include "isobit/lab/explain/part_run.h"
#include "isobit/lab/measure/native_worker.h"

namespace isobit::lab::explain {

// The model that was measured, from its own file: what a lab says of its nodes may be anything. kUsage where the file,
// or what lies beside it, is not what was measured, or no model whose hash is known was; kUnreadable as
// onnx::load_model.
Expected<onnx::Model> measured_model(const records::Subject& subject, const InferenceRequest& request);

// A platform that no text names: one on which somebody's own backend runs the graphs.
struct OwnPlatform {
  platform::Platform platform;
  std::string arithmetic = "float32";
  backends::Backend* backend = nullptr;  // not owned; never null
};

struct ReplayRequest {
  InferenceRequest inference;               // the model, and the inputs and seed that were measured
  size_t most_forks = 256;                  // the first ones in execution order
  uint64_t most_bytes = uint64_t{1} << 30;  // of their inputs, held at once
  std::map<std::string, OwnPlatform> own;   // by the name in the record; others are what their names say
};

// A platform of the comparison that this machine has.
struct PlatformHere : measure::NativePlatform {
  size_t place = 0;  // in Comparison::platforms
  backends::Backend* backend = &backends::native();
};
// Those that recorded operators and that this machine has by their names, or that are somebody's own.
std::vector<PlatformHere> platforms_here(const Explanation& explanation, const std::map<std::string, OwnPlatform>& own);

struct Replay {
  size_t fork = 0;                        // of Explanation::forks
  std::vector<std::string> nodes;         // that ran, as the model's file names them
  std::vector<size_t> platforms;          // on which it ran, places in Comparison::platforms
  std::vector<records::Hash128> results;  // of each
  std::vector<int> classes;               // of the results, from 1
  size_t same_inputs = 0;                 // platforms that had these inputs when they were recorded
  bool reproduced = false;                // and made the recorded bits again
  // Of those with these inputs, whose recorded bits did not come out again: another library or machine, or a false
  // record. Where those of others did, and two platforms are left, these are none of `platforms`.
  std::vector<size_t> not_again;
  std::string problem;  // why it could not run

  int class_count() const;
  // What the replay shows: kUnknown unless it was reproduced and ran on two platforms or more.
  Origin origin() const;
};

struct Replays {
  std::optional<PlatformHere> reference;  // whose inputs they were: the first whose records come out again, if asked
  std::vector<PlatformHere> platforms;    // that ran, the reference first
  std::vector<Replay> forks;
  size_t beyond = 0;                 // forks that were not looked at
  std::vector<std::string> remarks;  // platforms that did not run, and why
  std::string without_inputs;        // why some could not be fed: the inputs that were measured are not here
  // "what was recorded of P does not come out again here ...": platforms that could not be the reference.
  std::vector<std::string> doubts;
  std::string problem;  // why nothing was replayed
};

// Keeps what a replay needs, so that further platforms can be tried on the same inputs.
class Replayer {
 public:
  // `model`: measured_model() of the subject and the request; its file is not read again. Other inputs than those that
  // were measured are no error: the labs may hold all that a replay needs. Refers to its other arguments.
  static Replayer open(const Explanation& explanation, const deviation::TensorSource& tensors,
                       const ReplayRequest& request, onnx::Model model);

  // Replays forks on all platforms that this machine has. Errors: those of `tensors`.
  Expected<Replays> replay();
  // The bits of a replayed fork on any platform, by the same inputs. REQUIRES replay(), and a replay without a problem.
  Expected<records::Hash128> bits_on(const Replay& replay, const PlatformHere& platform) const;
  // Of a replayed fork.
  const Part& part(const Replay& replay) const { return parts_.at(replay.fork); }
  // By place in Explanation::forks.
  const Part& part(size_t fork) const { return parts_.at(fork); }
  bool has_part(size_t fork) const { return parts_.contains(fork); }
  // Platforms, replayed or not, that recorded every input of the replay with the bits of the reference.
  std::vector<size_t> with_inputs_of_reference(const Replays& replays, const Replay& replay) const;
  const Feeds& feeds() const { return feeds_; }

 private:
  Replayer(const Explanation& explanation, const deviation::TensorSource& tensors, const ReplayRequest& request)
      : explanation_(&explanation), tensors_(&tensors), request_(&request) {}
  std::map<std::string, const deviation::TracedValue*> common_values(const Replays& replays) const;
  void cut_forks(Replays& replays);
  Status gather(const Part& part, const Replays& replays, std::set<std::string>& missing);
  Status feed(Replays& replays, std::string& doubt);
  void run(Replays& replays);
  void judge(Replays& replays) const;

  const Explanation* explanation_;
  const deviation::TensorSource* tensors_;
  const ReplayRequest* request_;
  onnx::Model model_;
  std::map<std::string, const deviation::TracedValue*> values_;  // that every platform recorded
  std::map<size_t, Part> parts_;                                 // by fork
  Feeds feeds_;
  uint64_t held_ = 0;          // bytes of what labs gave
  std::string why_no_inputs_;  // "": those of the request are the ones that were measured
};

}  // namespace isobit::lab::explain
