// Runs that chance has changed: raw, with the manifest signed again, or with everything signed again that depends on
// the change, as a trainer who holds an engaged key would.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "isobit/commit/signature.h"
#include "isobit/run/train_run.h"

namespace isobit::attacks {

using Files = std::map<std::string, Bytes>;  // by path in the run

enum class Mode { kRaw, kManifest, kDeep };
inline constexpr Mode kModes[] = {Mode::kRaw, Mode::kManifest, Mode::kDeep};
const char* name_of(Mode mode);

// An honest run in memory and what its trainer knows.
struct Honest {
  train::Job job;
  commit::SecretKey trainer;
  Files files;
  std::vector<log::LoggedOutput> schema;  // of a logged job
};

// Reads a finished run.
Files read_run(const fs::path& folder);
Honest honest_of(const run::TrainRequest& request);

// The final weights other than they were trained, and everything signed again: nothing but a replay can object.
Files overwritten(const Honest& honest);

struct Mutant {
  Files files;
  std::string group;  // "leaves": what kind of thing was changed
  std::string what;   // "deep: bytes of leaf 3"
};

// At least one byte is other. A function of the honest run, the mode and the state of the generator.
Mutant mutate(const Honest& honest, Mode mode, std::mt19937_64& random);

// Empty when nothing that the mutant claims is other than what the honest run claims, so that an auditor may accept it;
// else what is. Claims are
//   - the job (its digest) and the engagement, byte by byte,
//   - every leaf but its digest of a log: a log is the trainer's own, and one that leads to the same values is true,
//   - every checkpoint that there is, tensor by tensor, and that the final one is there.
// No claims are: facts of the manifest, comments in the job, how a segment was compressed, metadata and order of
// tensors in a checkpoint, how many heads were signed in between.
std::string false_claim(const Honest& honest, const Files& mutant);

}  // namespace isobit::attacks
