#include "isobit/lab/reveal/confirm.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "isobit/base/text.h"
#include "isobit/numerics/bits.h"

namespace isobit::lab::reveal {

namespace {

constexpr int64_t kSums = 64;

bool same(double a, double b) { return numerics::bits_of(a) == numerics::bits_of(b); }

// A random significand of the format's width, a sign and an exponent from -12 to 11: nearly every addition rounds.
std::vector<double> draw_terms(Format format, int64_t n, std::mt19937_64& random) {
  std::vector<double> terms(static_cast<size_t>(n));
  const int bits = format == Format::kFloat32 ? 24 : 53;
  for (double& term : terms) {
    const uint64_t top = uint64_t{1} << (bits - 1);
    const double significand = static_cast<double>(top | (random() & (top - 1)));
    const int exponent = static_cast<int>(random() % 24) - 12;
    term = std::ldexp(random() & 1 ? significand : -significand, exponent - (bits - 1));
  }
  return terms;
}

// The same terms for every kernel, whatever at_once() is.
Status hash_sums(Summation& summation, std::mt19937_64& random, commit::Sha256& hash) {
  const std::vector<double> terms = draw_terms(summation.format(), kSums * summation.terms(), random);
  std::vector<double> sums(kSums);
  ISOBIT_RETURN_IF_ERROR(summation.sums(kSums, terms.data(), sums.data()));
  hash.update({reinterpret_cast<const uint8_t*>(sums.data()), sums.size() * sizeof(double)});
  return {};
}

Expected<commit::Digest> digest_of_sums(Summation& summation, uint64_t seed) {
  std::mt19937_64 random(seed);
  commit::Sha256 hash;
  ISOBIT_RETURN_IF_ERROR(hash_sums(summation, random, hash));
  if (!summation.has_weights()) return hash.digest();
  const std::vector<double> ones(static_cast<size_t>(summation.terms()), 1);
  ISOBIT_RETURN_IF_ERROR(summation.weigh(draw_terms(summation.format(), summation.terms(), random).data()));
  ISOBIT_RETURN_IF_ERROR(hash_sums(summation, random, hash));
  ISOBIT_RETURN_IF_ERROR(summation.weigh(ones.data()));
  return hash.digest();
}

}  // namespace

std::string Confirmation::words(Format format) const {
  const std::string count = text_of(sums, " sums of random numbers");
  if (!repeats) return text_of("the same sums came out otherwise the second time");
  if (all(plain)) return text_of("each addition rounded to ", name_of(format), ": ", count, " agree in every bit");
  if (all(wide)) return text_of("additions in float64, rounded to float32 at the end: ", count, " agree in every bit");
  if (all(correct))
    return text_of("correctly rounded: ", count, " agree in every bit with the exact sum, rounded once");
  return text_of("of ", count, " ", plain, " agree with the tree in ", name_of(format),
                 format == Format::kFloat32 ? text_of(", ", wide, " with the tree in float64") : std::string(), ", ",
                 correct, " with the correctly rounded sum: these are no plain additions in that order everywhere");
}

Expected<Confirmation> confirm(Summation& summation, const SumTree* tree, uint64_t seed) {
  std::mt19937_64 random(seed);
  Confirmation found;
  const int64_t k = summation.terms(), call = std::max<int64_t>(1, summation.at_once());
  const Format format = summation.format();
  for (int64_t done = 0; done < kSums; done += call) {
    const std::vector<double> terms = draw_terms(format, call * k, random);
    std::vector<double> sums(static_cast<size_t>(call)), again(sums.size());
    ISOBIT_RETURN_IF_ERROR(summation.sums(call, terms.data(), sums.data()));
    ISOBIT_RETURN_IF_ERROR(summation.sums(call, terms.data(), again.data()));
    for (int64_t q = 0; q < call; ++q) {
      const double *row = terms.data() + q * k, sum = sums[static_cast<size_t>(q)];
      ++found.sums;
      found.repeats = found.repeats && same(sum, again[static_cast<size_t>(q)]);
      found.correct += same(sum, correctly_rounded_sum(format, k, row));
      if (tree == nullptr) continue;
      found.plain += same(sum, evaluate(*tree, format, Accumulator::kFormat, row));
      found.wide += same(sum, evaluate(*tree, format, Accumulator::kFloat64, row));
    }
  }
  ISOBIT_TRY(found.bits, digest_of_sums(summation, seed + 1));
  return found;
}

}  // namespace isobit::lab::reveal
