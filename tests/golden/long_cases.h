// Examples of the operators that add, with more terms than one chunk and one block have, so that an order shows.
#pragma once

#include <vector>

#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::golden {

std::vector<runtime::OperatorCase> long_cases();

}  // namespace isobit::golden
