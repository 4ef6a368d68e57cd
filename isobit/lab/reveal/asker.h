// Questions to a summation: nearly all terms alike. Counts what is asked.
#pragma once

#include <span>
#include <vector>

#include "isobit/lab/reveal/summation.h"

namespace isobit::lab::reveal {

// Every term is `others`, but for those at the first `count` places.
struct Question {
  struct Place {
    int64_t term;
    double value;
  };
  double others = 0;
  int count = 0;
  Place places[3] = {};
};

class Asker {
 public:
  explicit Asker(Summation& summation) : summation_(summation) {}

  // The sums, in the order of the questions.
  Expected<std::vector<double>> ask(std::span<const Question> questions);
  int64_t queries() const { return queries_; }

 private:
  Summation& summation_;
  std::vector<double> terms_;  // of one batch
  int64_t queries_ = 0;
};

}  // namespace isobit::lab::reveal
