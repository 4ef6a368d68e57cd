// `isobit reveal`: a target of a platform, its tree, whether the tree holds, and probes of its arithmetic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/lab/reveal/confirm.h"
#include "isobit/lab/reveal/functions.h"
#include "isobit/lab/reveal/probes.h"
#include "isobit/lab/reveal/reveal.h"
#include "isobit/lab/reveal/worker_process.h"

namespace isobit::lab::reveal {

struct RevealRequest {
  SumRequest sum = {};
  // A platform of platform.h ("ordered@avx2", "openblas@haswell/1t"), or an engine of worker.h with threads
  // ("pytorch/1t").
  std::string platform = "ordered";
  std::string python = "python3";         // of an engine
  Patience patience = Patience::of(600);  // with an engine
  bool probes = false;
  uint64_t seed = 1;
};

struct Revelation {
  SumRequest sum;                 // as it was asked; rows_at_once false where the rows of a product were not alike
  std::string platform, version;  // canonical text; "NumPy 2.4.6", "" for this program itself
  std::string call;               // what was called
  Revealed revealed;
  Confirmation confirmation;              // none (sums = 0) for positive terms, which are checked by further triples
  std::optional<bool> last_column_alike;  // of a product: whether the tree is that of its last column, too
  std::vector<Probe> probes;

  bool is_correctly_rounded() const { return confirmation.all(confirmation.correct); }
  // What the tree says, or why there is none: whole sentences.
  std::string words() const;
};

// A platform with core types holds its library for the rest of the process. Errors: kUsage for a request or platform
// that makes no sense; kUnavailable: this machine does not have the platform, or the platform not the target.
Expected<Revelation> reveal(const RevealRequest& request);

// The elementary functions of a platform: of ours on every platform of platform.h, of the engine, or of "libm", the C
// library that this program is linked to.
Expected<std::vector<FunctionReport>> reveal_functions(const std::string& platform, const std::string& python,
                                                       const Patience& patience = Patience::of(600));

}  // namespace isobit::lab::reveal
