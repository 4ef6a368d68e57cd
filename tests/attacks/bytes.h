// Changes of bytes by chance, which know nothing of what the bytes mean.
#pragma once

#include <random>

#include "isobit/base/bytes.h"

namespace isobit::attacks {

using Random = std::mt19937_64;

// A number below n; 0 where n is 0.
inline uint64_t below(Random& random, uint64_t n) { return n == 0 ? 0 : random() % n; }

void insert(Bytes& data, size_t at, const Bytes& more);

// One change of any kind. Half of them near the beginning, where the fields are.
void change_bytes(Bytes& data, Random& random);

}  // namespace isobit::attacks
