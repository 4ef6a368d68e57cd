// The convolution algorithms that a platform may have behind its plus, with the bits that each makes here.
#pragma once

#include <string>
#include <vector>

#include "isobit/commit/hash.h"

namespace isobit::lab {

struct ConvolutionAlgorithm {
  std::string name, words, applies;  // kernels/vendor/algorithms/catalogue.h
  // SHA-256 over what it computes for one fixed convolution (2 images of 5 x 11 x 9, 7 outputs, 3 x 3 taps, padding 1,
  // bias) on our own kernels, little-endian float32. Algorithms of different digests have different bits; so have two
  // machines on which one algorithm has two. Empty for the autotuner, which is one of the others, and with an error.
  std::string digest;
  std::string error;  // why it is not to be had here
};

// All of them, in a fixed order. Determinism class: each algorithm's own.
std::vector<ConvolutionAlgorithm> convolution_algorithms();

}  // namespace isobit::lab
