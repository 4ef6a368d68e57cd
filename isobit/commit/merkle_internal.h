// What the prover, the verifier and the codec of the proofs must agree on: which subtrees a proof names.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "isobit/commit/merkle.h"

namespace isobit::commit::internal {

// Leaves of the left subtree of a tree of n leaves. REQUIRES n >= 2.
inline uint64_t left_size(uint64_t n) { return std::bit_floor(n - 1); }

inline Digest empty_root() { return sha256({}); }

// How many digests the proof of these numbers has. They fix it, so that no decoder must trust a count.
uint64_t inclusion_path_length(uint64_t index, uint64_t size);      // REQUIRES index < size
uint64_t consistency_length(uint64_t old_size, uint64_t new_size);  // REQUIRES old_size <= new_size
// REQUIRES indices strictly increasing, not empty, below size.
uint64_t several_length(std::span<const uint64_t> indices, uint64_t size);

// Strictly increasing, not empty, below size.
bool proper_indices(std::span<const uint64_t> indices, uint64_t size);

}  // namespace isobit::commit::internal
