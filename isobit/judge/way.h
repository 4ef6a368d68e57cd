// By which way an element is computed. Internal.
#pragma once

#include <vector>

#include "isobit/judge/product.h"
#include "isobit/judge/question.h"
#include "isobit/runtime/element_formula.h"

namespace isobit::judge {

enum class Way : uint8_t {
  kMoved,      // it is its one need, or zero
  kFormula,    // runtime::ElementFormula
  kProduct,    // an inner product
  kOneByOne,   // the operator's own kernel on tensors of one element each
  kAlongLine,  // the operator's own kernel on the line of input 0 that the needs are
};

struct Plan {
  Way way = Way::kMoved;
  std::vector<graph::ElementSource> needs;
  const runtime::ElementFormula* formula = nullptr;
  ProductTerms product;
};

// The way of what is asked for, whichever element. kUnreadable, with the reason, for what cannot be judged alone.
Expected<Way> way_of(const Question& q);
// kUnreadable as way_of.
Expected<Plan> plan_for(const Question& q);

}  // namespace isobit::judge
