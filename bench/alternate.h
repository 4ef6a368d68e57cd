// A program whose libraries take turns on one case after another; its options and what it prints are in alternate.cpp.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/common.h"
#include "bench/rivals.h"

namespace isobit::bench {

// Random floats that lie as those of isobit's and oneDNN's tensors do.
class Operand {
 public:
  Operand(int64_t n, uint64_t seed) : size_(n), data_(allocate(n)) {
    const std::vector<float> values = random_floats(n, seed);
    std::copy(values.begin(), values.end(), data_.get());
  }
  float* data() const { return data_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  static float* allocate(int64_t n) {
    void* p = std::aligned_alloc(64, (static_cast<size_t>(n) * sizeof(float) + 63) / 64 * 64);
    return p ? static_cast<float*>(p) : throw std::bad_alloc();
  }
  int64_t size_;
  std::unique_ptr<float, Free> data_;
};

// Who computes a case; several of one library (LIBRARY:WAY) stand for its ways, of which the best counts.
struct Contestant {
  std::string name;
  Prepared prepared;
  std::function<void()> check;  // after run and fetch; ends the program where the result is wrong
};

struct Setting {
  int threads = 1;
  std::vector<Rival> blas;
  std::function<bool(const std::string&)> wanted;  // by the part of a contestant's name before the colon
};

struct Case {
  std::string name;  // KIND/GROUP/SHAPE
  double flops = 0;
  // What the contestants hold keeps the operands.
  std::function<std::vector<Contestant>(const Setting&)> prepare;
};

std::vector<Case> cases();  // in <name>_bench.cpp

}  // namespace isobit::bench
