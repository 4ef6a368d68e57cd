#include "isobit/lab/reveal/asker.h"

#include <algorithm>

namespace isobit::lab::reveal {

namespace {

constexpr int64_t kBatchTerms = 1 << 18;  // a batch stays within 2 MiB, where one call does

}  // namespace

Expected<std::vector<double>> Asker::ask(std::span<const Question> questions) {
  const int64_t k = summation_.terms(), n = static_cast<int64_t>(questions.size());
  // Whole calls of the kernel, as many as the memory of a batch holds.
  const int64_t call = std::max<int64_t>(1, summation_.at_once());
  const int64_t batch = std::max<int64_t>(1, kBatchTerms / (call * k)) * call;
  std::vector<double> results(questions.size());
  for (int64_t begin = 0; begin < n; begin += batch) {
    const int64_t count = std::min(batch, n - begin);
    terms_.resize(static_cast<size_t>(count * k));
    for (int64_t q = 0; q < count; ++q) {
      const Question& question = questions[static_cast<size_t>(begin + q)];
      double* terms = terms_.data() + q * k;
      std::fill(terms, terms + k, question.others);
      for (int p = 0; p < question.count; ++p) terms[question.places[p].term] = question.places[p].value;
    }
    ISOBIT_RETURN_IF_ERROR(summation_.sums(count, terms_.data(), results.data() + begin));
    queries_ += count;
  }
  return results;
}

}  // namespace isobit::lab::reveal
