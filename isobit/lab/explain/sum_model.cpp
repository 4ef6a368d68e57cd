#include "isobit/lab/explain/sum_model.h"

#include <cmath>
#include <limits>

#include "isobit/numerics/exact_sum.h"

namespace isobit::lab::explain {
namespace {

// The float32 number next to x on the way to 0, where x was rounded away from what it stands for.
float cut_off(double sum, double lost) {
  const auto nearest = static_cast<float>(sum);
  const double over = static_cast<double>(nearest) - sum;  // exact
  const double away = over != 0 ? over : -lost;            // of the nearest number from the exact sum
  return away != 0 && (away > 0) == (nearest > 0) ? std::nextafter(nearest, 0.0f) : nearest;
}

class Evaluation {
 public:
  Evaluation(const SumModel& model, const OperatorCall& call, const SumPlace& place) : model_(model), place_(place) {
    const float* const a = call.inputs[*call.input_of(0)].data<float>();
    for (const int64_t t : place.terms) a_.push_back(a[t]);
    if (!place.weights.empty()) {
      const float* const b = call.inputs[*call.input_of(1)].data<float>();
      for (const int64_t w : place.weights) b_.push_back(b[w]);
    }
    if (place.added) added_ = call.inputs[*call.input_of(2)].data<float>()[*place.added];
  }

  float result() {
    double sum = model_.tree ? along_tree() : once();
    if (model_.tree && place_.added && model_.added == Added::kInside) sum = plus(sum, added_);
    auto total = static_cast<float>(sum);
    if (place_.added && model_.added == Added::kLast) {
      total = kept(model_.toward_zero ? static_cast<float>(plus(total, added_)) : total + added_);
    }
    if (model_.divisor == 1) return total;
    const auto n = static_cast<float>(model_.divisor);
    return kept(model_.by_reciprocal ? total * (1 / n) : total / n);
  }

 private:
  float kept(float x) const {
    const bool subnormal = x != 0 && std::abs(x) < std::numeric_limits<float>::min();
    return model_.flushes && subnormal ? std::copysign(0.0f, x) : x;
  }
  double product(size_t k) const {
    const double exact = static_cast<double>(a_[k]) * static_cast<double>(b_.empty() ? 1.0f : b_[k]);
    return model_.wide ? exact : static_cast<double>(kept(static_cast<float>(exact)));
  }
  double plus(double x, double y) const {
    const double sum = x + y;
    if (model_.wide) return sum;
    const double back = sum - x, lost = (x - (sum - back)) + (y - back);
    return static_cast<double>(kept(model_.toward_zero ? cut_off(sum, lost) : static_cast<float>(sum)));
  }
  // A product that joins a partial sum.
  double joined(double sum, size_t k) const {
    if (!model_.fused || model_.wide) return plus(sum, product(k));
    return static_cast<double>(kept(std::fma(a_[k], b_.empty() ? 1.0f : b_[k], static_cast<float>(sum))));
  }

  double along_tree() const {
    const reveal::SumTree& tree = *model_.tree;
    const auto leaves = static_cast<size_t>(tree.leaves());
    std::vector<double> sums(leaves + tree.nodes().size());
    size_t next = leaves;
    bool begun = !(place_.added && model_.added == Added::kFirst);  // what is added on top is with the first leaf
    for (const auto& children : tree.nodes()) {
      double sum = 0;
      for (size_t c = 0; c < children.size(); ++c) {
        const auto child = static_cast<size_t>(children[c]);
        if (c == 0 && child < leaves) {
          sum = child == 0 && !begun ? joined(added_, child) : product(child);
          begun = begun || child == 0;
        } else if (c == 0) {
          sum = sums[child];
        } else {
          sum = child < leaves ? joined(sum, child) : plus(sum, sums[child]);
        }
      }
      sums[next++] = sum;
    }
    return sums.back();
  }

  // Of a sum whose every unit survives: of exact products, and of what is added within, one rounding. A product of two
  // float32 numbers is the sum of two.
  double once() const {
    std::vector<float> terms;
    for (size_t k = 0; k < a_.size(); ++k) {
      const double exact = static_cast<double>(a_[k]) * static_cast<double>(b_.empty() ? 1.0f : b_[k]);
      const auto nearest = static_cast<float>(exact);
      terms.push_back(nearest);
      if (std::isfinite(nearest)) terms.push_back(static_cast<float>(exact - static_cast<double>(nearest)));
    }
    if (place_.added && model_.added != Added::kLast) terms.push_back(added_);
    return static_cast<double>(kept(numerics::sum_rounded(terms.data(), static_cast<int64_t>(terms.size()))));
  }

  const SumModel& model_;
  const SumPlace& place_;
  std::vector<float> a_, b_;
  float added_ = 0;
};

}  // namespace

float modelled(const SumModel& model, const OperatorCall& call, const SumPlace& place) {
  return Evaluation(model, call, place).result();
}

}  // namespace isobit::lab::explain
