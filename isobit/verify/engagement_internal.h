// The terms inside an offer and an engagement.
#pragma once

#include <string>

#include "isobit/verify/engagement.h"

namespace isobit::verify {

// What is wrong with the terms, naming the field; empty when nothing is.
std::string problem_of(const EngagementTerms& terms);

void write_terms(ByteWriter& writer, const EngagementTerms& terms);
// Only terms without a problem.
Expected<EngagementTerms> read_terms(ByteReader& reader);

}  // namespace isobit::verify
