// Exponentials over their sum: what a row of results says of the exponentials, of the sum and of the division.
#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/lab/explain/diagnosis_internal.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::lab::explain {
namespace {

// How one platform computed: with correctly rounded exponentials, what was done to them by one sum a row?
struct Form {
  bool divides = true, multiplies = true;  // everywhere
  int64_t off = 0;                         // results that neither gives, at best
  uint64_t largest = 0;                    // of those, in ulp
  std::vector<float> reciprocals;          // by row: what the exponential 1 became
};

class Rows {
 public:
  Rows(std::span<const float> x, size_t width) : x_(x), width_(width) {
    for (size_t begin = 0; begin < x.size(); begin += width) {
      const float most = *std::ranges::max_element(x.subspan(begin, width));
      for (size_t i = begin; i < begin + width; ++i) powers_.push_back(numerics::cr_exp(x[i] - most));
    }
  }

  Form form_of(std::span<const float> y) const {
    Form form;
    for (size_t begin = 0; begin < x_.size(); begin += width_) add_row(begin, y, form);
    return form;
  }

 private:
  void add_row(size_t begin, std::span<const float> y, Form& form) const {
    const auto row = x_.subspan(begin, width_);
    const float r = y[begin + static_cast<size_t>(std::ranges::max_element(row) - row.begin())];
    form.reciprocals.push_back(r);
    int64_t multiplied_off = 0;
    for (size_t i = begin; i < begin + width_; ++i) multiplied_off += !same(y[i], powers_[i] * r);
    form.multiplies = form.multiplies && multiplied_off == 0;
    // Several sums have this reciprocal.
    int64_t divided_off = static_cast<int64_t>(width_) + 1;
    uint64_t far = 0;
    float sum = 1 / r;
    for (int step = 0; step < 4; ++step) sum = std::nextafter(sum, 0.0f);
    for (int step = 0; step < 9; ++step, sum = std::nextafter(sum, HUGE_VALF)) {
      int64_t off = 0;
      uint64_t largest = 0;
      for (size_t i = begin; i < begin + width_; ++i) {
        const float quotient = powers_[i] / sum;
        off += !same(y[i], quotient);
        largest = std::max(largest, numerics::ulp_distance(y[i], quotient));
      }
      if (off < divided_off) divided_off = off, far = largest;
    }
    form.divides = form.divides && divided_off == 0;
    form.off += std::min(divided_off, multiplied_off);
    form.largest = std::max(form.largest, far);
  }

  std::span<const float> x_;
  const size_t width_;
  std::vector<float> powers_;
};

// The width of a row; 0 where the operator does not go along its last axis.
size_t row_width(const OperatorCall& call) {
  if (call.inputs.size() != 1 || call.inputs[0].dtype() != DType::kFloat32) return 0;
  const Shape& shape = call.inputs[0].shape();
  if (shape.rank() == 0 || call.inputs[0].elements() == 0) return 0;
  const auto& items = call.node().attributes.items();
  const auto axis = items.find("axis");
  if (axis != items.end()) {
    const auto* const number = std::get_if<int64_t>(&axis->second);
    if (number == nullptr || (*number != -1 && *number != shape.rank() - 1)) return 0;
  }
  return static_cast<size_t>(shape[-1]);
}

}  // namespace

std::optional<Diagnosis> soft_maximum(const Evidence& e) {
  const size_t width = row_width(e.call);
  const auto a = e.out_a(), b = e.out_b();
  if (width < 2 || a.size() != static_cast<size_t>(e.call.inputs[0].elements())) return std::nullopt;
  const Rows rows(e.call.inputs[0].span<float>(), width);
  const Form fa = rows.form_of(a), fb = rows.form_of(b);
  const bool known_a = fa.divides || fa.multiplies, known_b = fb.divides || fb.multiplies;
  if (!known_a && !known_b) return std::nullopt;
  Diagnosis d{.confirmed = true, .compared = static_cast<int64_t>(a.size())};
  if (!known_a || !known_b) {
    const Form& off = known_a ? fb : fa;
    if (off.off * 2 > static_cast<int64_t>(a.size()) || off.largest > 16) return std::nullopt;
    d.kind = Kind::kElementaryFunction;
    d.confirmed = false;
    d.words = text_of(known_a ? e.names.a : e.names.b, " has correctly rounded exponentials over a sum; on ",
                      known_a ? e.names.b : e.names.a, " ", off.off, " of ", a.size(),
                      " results are those of other exponentials, up to ", off.largest, " ulp away.");
    return d;
  }
  if ((fa.divides && !fb.divides) || (fb.divides && !fa.divides)) {
    d.kind = Kind::kReciprocalDivision;
    d.words = text_of("With correctly rounded exponentials, ", fa.divides ? e.names.a : e.names.b,
                      " divides each by their sum, and ", fa.divides ? e.names.b : e.names.a,
                      " multiplies each by the rounded reciprocal of a sum, in all of ", a.size(), " places.");
    return d;
  }
  int64_t differ = 0;
  for (size_t r = 0; r < fa.reciprocals.size(); ++r) differ += !same(fa.reciprocals[r], fb.reciprocals[r]);
  d.kind = Kind::kSummationOrder;
  d.words = text_of("Both have correctly rounded exponentials, and ",
                    fa.divides ? "divide them by their sum" : "multiply them by the reciprocal of their sum",
                    ": the sums differ, in at least ", differ, " of ", fa.reciprocals.size(), " rows.");
  return d;
}

}  // namespace isobit::lab::explain
