// What expansions are made of, as data that tests hold them to. Determinism, rules of elements and gradients of a
// composite operator are those of its primitives: nothing is said of it but which they are.
#pragma once

#include <string>
#include <vector>

namespace isobit::graph::expansions {

struct Expansion {
  std::string op;                       // of ONNX
  std::string domain;                   // "", or "ai.onnx.ml"
  std::vector<std::string> primitives;  // every operator that it may add to a graph
};

// In the order of their names. Not every expansion: normalisations, reductions, softmaxes and convolutions have tests
// of their own.
const std::vector<Expansion>& listed_expansions();

// Null when there is none of that name.
const Expansion* find_expansion(const std::string& op);

// Who brings the bits of what an expansion computes.
enum class Promise {
  kExact,        // they are moved
  kOrdered,      // our own kernels, the same everywhere: ordered-1
  kArithmetics,  // there are inner products among the primitives: what the arithmetic promises of those
  kNone,         // a primitive is not known, or depends on the platform
};
Promise promise_of(const Expansion& expansion);

}  // namespace isobit::graph::expansions
