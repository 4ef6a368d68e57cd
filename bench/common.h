// What all benchmarks share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/base/thread_pool.h"

namespace isobit::bench {

// A pool of that many threads, kept for the life of the program.
ThreadPool& pool_of(int threads);

// About uniform in [-1, 1), the same on every machine.
std::vector<float> random_floats(int64_t n, uint64_t seed);

// Ends the program when `found` is further from `expected` than `tolerance`: a wrong result is never timed.
void require_near(const std::string& what, double expected, double found, double tolerance);

// Processor time of this process where it runs one thread, which is what a busy machine leaves comparable; else wall
// time.
double seconds(int threads);
double median(std::vector<double> values);

}  // namespace isobit::bench
