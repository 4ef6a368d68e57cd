// The equation of Einsum, read.
#pragma once

#include <string>
#include <vector>

#include "isobit/base/status.h"

namespace isobit::graph::expansions {

// An axis of an operand or of the output: a letter, or one of the axes that "..." stands for, counted from the last
// one.
using EinsumLabel = int;

struct EinsumEquation {
  std::vector<std::vector<EinsumLabel>> operands;  // a label for each axis
  std::vector<EinsumLabel> output;
};

// "bij, bjk -> bik": terms of letters and at most one "..." each, between commas, spaces between them; ranks: of the
// operands. Without "->" the output is what "..." stands for, then the letters that occur once, in the order of ASCII.
// The axes of "..." of several operands are aligned at the last one.
// Errors (kUnreadable): anything else in the equation; another number of terms than operands; a term that does not have
// its operand's rank; in the output a letter twice or one that no term has, or no "..." where it stands for an axis.
Expected<EinsumEquation> parse_einsum(const std::string& equation, const std::vector<int>& ranks);

}  // namespace isobit::graph::expansions
