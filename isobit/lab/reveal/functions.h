// Elementary functions of a platform, compared with the correctly rounded ones.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/commit/hash.h"

namespace isobit::lab::reveal {

// divide6 is x / 6, which some compute as x times the rounded 1/6.
enum class Function { kExp, kLog, kTanh, kErf, kSin, kCos, kSqrt, kPow, kDivide6 };
inline constexpr int kFunctions = 9;
const char* name_of(Function function);  // "exp", ..., "divide6"

// What a platform gives for arguments x (and y, of kPow; else empty).
using Evaluate =
    std::function<Expected<std::vector<float>>(Function, const std::vector<float>& x, const std::vector<float>& y)>;

struct FunctionReport {
  Function function = Function::kExp;
  std::string missing = {};  // why there is nothing to compare: the platform does not have it
  int64_t arguments = 0;
  // How many results are that many ulps from the correctly rounded one: 0, 1, 2, more.
  std::array<int64_t, 4> ulps = {};
  uint64_t largest = 0;    // distance in ulps
  float at = 0, at_y = 0;  // where
  // SHA-256 of the bits of all results: platforms with equal digests agree on every argument tried.
  commit::Digest digest = {};
  int64_t like_reciprocal = 0;  // of kDivide6: results equal to x * (1/6), of those where that differs from x / 6
  int64_t reciprocal_differs = 0;
};

// The arguments: 65,536 numbers, seeded, over the range where the function is neither constant nor overflows.
// Determinism class of arguments and expected results: the same on every machine.
std::vector<float> arguments_of(Function function);
std::vector<float> exponents_of_pow();
// The correctly rounded results (numerics/functions.h; quotients by IEEE division).
float expected(Function function, float x, float y);

// Errors: none for a function that the platform lacks (kUnavailable), else those of `evaluate`.
Expected<std::vector<FunctionReport>> compare_functions(const Evaluate& evaluate);

}  // namespace isobit::lab::reveal
