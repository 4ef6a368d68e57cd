// What a deviation lab knows of one run: the subject that ran, the platform it ran on, and a hash of every value that
// was recorded. Two runs are comparable when their subjects are the same.
//
// Determinism class: values and digests here are the same on every machine.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/commit/hash.h"
#include "isobit/lab/records/hash128.h"

namespace isobit::lab::records {

// Where something ran. Two records of one name are two platforms when anything else of them differs: the same build on
// two machines.
struct PlatformRecord {
  std::string name;                           // canonical text: "openblas@haswell/2t", "pytorch/1t"
  std::string engine;                         // what computed: "openblas", "onnxruntime"
  std::map<std::string, std::string> fields;  // library versions, compiler, CPU model, threads ...
  std::vector<std::string> cpu_flags;         // sorted, each once; empty: not known
  int64_t cores = 0;                          // logical; 0: not known
  bool operator==(const PlatformRecord&) const = default;
};

// A platform that many runs have: copies share one record, which nobody can change.
class SharedPlatform {
 public:
  SharedPlatform();
  SharedPlatform(PlatformRecord record);  // NOLINT: whoever has a record has a platform
  SharedPlatform(std::string name, std::string engine, std::map<std::string, std::string> fields,
                 std::vector<std::string> cpu_flags, int64_t cores);

  const PlatformRecord& operator*() const { return held_->record; }
  const PlatformRecord* operator->() const { return &held_->record; }
  operator const PlatformRecord&() const { return held_->record; }  // NOLINT
  const commit::Digest& digest() const { return held_->digest; }
  // Becomes one with another record: `change` gets a copy.
  template <class Change>
  void change(Change change) {
    PlatformRecord copy = held_->record;
    change(copy);
    *this = SharedPlatform(std::move(copy));
  }
  bool operator==(const SharedPlatform& other) const { return digest() == other.digest(); }

 private:
  struct Held {
    PlatformRecord record;
    commit::Digest digest;
  };
  std::shared_ptr<const Held> held_;  // never null
};

// The numbers are part of docs/formats/lab.md; never renumber.
enum class SubjectKind : uint8_t {
  kInference = 1,  // a model and its inputs
  kTraining = 2,   // a job
  kDumps = 3,      // tensors that somebody's own program wrote
  kPublished = 4,  // records of a published study, which carry no hashes of their own
};
const char* name_of(SubjectKind kind);  // "inference"

// What ran. All of it must agree before two runs are compared.
struct Subject {
  SubjectKind kind = SubjectKind::kInference;
  std::string model;                           // a name for people
  std::optional<commit::Digest> model_sha256;  // of the bytes of the model file or job; none: not known
  std::optional<commit::Digest> input_sha256;  // of the inputs; none: not known
  std::string settings;                        // whatever else fixes the result: "seed 1, batch 8"
  bool operator==(const Subject&) const = default;
};

// One value of a run: an output of an operator, or of the whole model.
struct ValueRecord {
  std::string name;           // as the model names it
  std::string op;             // type of the operator that made it; "" where that is not known
  std::string dtype;          // "float32"; text, so that types of other programs fit
  std::vector<int64_t> dims;  // each >= 0
  Hash128 hash;
  std::string kernel;      // what computed it, as far as the engine says; "": not known
  bool is_output = false;  // of the whole model
  int64_t step = 0;        // of training or of a series of dumps; 0 for inference
  bool operator==(const ValueRecord&) const = default;
};

struct RunRecord {
  Subject subject;
  SharedPlatform platform;
  uint32_t repeat = 0;              // 0, 1, ... of one platform
  bool tapped = false;              // whether operators were recorded, and not the outputs alone
  double seconds = 0;               // of the computation
  std::string error;                // why it did not run; "": it ran
  std::vector<ValueRecord> values;  // in execution order
  bool operator==(const RunRecord&) const = default;
};

// A node of the subject's model, so that a report can draw it. In the order of the model.
struct GraphNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;  // names of values; "": an input that is left out
  bool operator==(const GraphNode&) const = default;
};

// Names of each by everything it holds (docs/formats/lab.md): the same content has the same digest in every lab.
// The digest of a run leaves out how long it took.
commit::Digest digest_of(const Subject& subject);
commit::Digest digest_of(const PlatformRecord& platform);
commit::Digest digest_of(const RunRecord& run);

}  // namespace isobit::lab::records
