// By which way an element is computed. Internal.
#pragma once

#include <functional>
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
  kAlongLine,  // the operator's own kernel on the line of input 0 that the needs are, or the row
};

struct Plan {
  Way way = Way::kMoved;
  std::vector<graph::ElementSource> needs;  // empty where not listed
  int64_t count = 0;                        // of the needs; of an inner product that are not listed, 0
  graph::NumberedSources numbered = {};     // of very many; empty: they are listed
  const runtime::ElementFormula* formula = nullptr;
  std::vector<double> weights = {};  // as of runtime::Sampled
  ProductTerms product;
};

// The way of what is asked for, whichever element. kUnreadable, with the reason, for what cannot be judged alone.
Expected<Way> way_of(const Question& q);
// The needs are listed, or left out where some of them alone can be said: the question must outlive the plan then.
// kUnreadable as way_of, and as check_guides.
enum class Needs : uint8_t { kListed, kWhereTheyMust };
Expected<Plan> plan_for(const Question& q, Needs needs = Needs::kListed);

// Number `begin` to `end` of a plan's needs.
std::vector<graph::ElementSource> needs_between(const Plan& plan, int64_t begin, int64_t end);

}  // namespace isobit::judge
