// The order in which the kernels of an operator add, asked of the kernels themselves (isobit/lab/reveal).
#pragma once

#include "isobit/lab/explain/replay.h"
#include "isobit/lab/explain/versions.h"
#include "isobit/lab/reveal/revelation.h"

namespace isobit::lab::explain {

// What is asked of every platform: the operator's own product where it is not too large, at an element that most
// platforms made differently; else a product of as many terms.
struct AskedSum {
  std::optional<reveal::SumRequest> sum = {};  // none: see problem
  std::string words = {};                      // "a convolution of 576 terms, 64 channels times 3 x 3"
  std::string problem = {};                    // the part has no inner product, or several, or one of too many terms
};
// versions: of the value that the part makes.
AskedSum asked_of(const Part& part, const Feeds& feeds, const Versions& versions);

struct KernelTree {
  size_t platform = 0;   // of the comparison
  std::string asked;     // "onnxruntime@disabled/1t": as its operators were looked at
  std::string call;      // what was asked: "openblas's matrix product"
  std::string words;     // of the order, or why there is none to see
  std::string rounding;  // how it rounds sums and products
  std::string tree;      // "((0 1) 2)"; "": none, or too long a text
  std::string digest;    // of the tree; "": none
  std::string svg;       // of the tree; "": none
  std::string problem;   // it could not be asked
};

// Each in a process of its own; engines of Python by that interpreter.
KernelTree tree_of(const Explanation& explanation, size_t platform, const reveal::SumRequest& sum,
                   const std::string& python);

}  // namespace isobit::lab::explain
