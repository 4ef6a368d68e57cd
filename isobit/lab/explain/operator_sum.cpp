#include "isobit/lab/explain/operator_sum.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "isobit/numerics/bits.h"

namespace isobit::lab::explain {
namespace {

using graph::ElementRule;

constexpr int64_t kLooked = 256;  // elements, for one that is made of the most

const graph::OutputDef& rule_of(const OperatorCall& call) { return graph::op_of(call.node()).output(0); }

int64_t elements_of(const OperatorCall& call) {
  return Shape(call.graph.value(call.node().outputs[0]).dims).elements();
}

}  // namespace

bool is_sum(const OperatorCall& call) {
  const graph::OutputDef& def = rule_of(call);
  const bool product = def.rule == ElementRule::kInnerProduct;
  if (!product && def.rule != ElementRule::kSum) return false;
  if (!def.sources || call.graph.value(call.node().outputs[0]).dtype != DType::kFloat32) return false;
  return call.input_of(0) && (!product || call.input_of(1));
}

std::optional<SumPlace> sum_place(const OperatorCall& call, int64_t element) {
  SumPlace place{.element = element};
  const bool product = rule_of(call).rule == ElementRule::kInnerProduct;
  const auto sources = call.sources_of(element);
  for (size_t s = 0; s < sources.size(); ++s) {
    if (product && sources[s].input == 0 && s + 1 < sources.size() && sources[s + 1].input == 1) {
      place.terms.push_back(sources[s].element);
      place.weights.push_back(sources[++s].element);
    } else if (!product && sources[s].input == 0) {
      place.terms.push_back(sources[s].element);
    } else if (product && sources[s].input == 2 && s + 1 == sources.size() && call.input_of(2)) {
      place.added = sources[s].element;
    } else {
      return std::nullopt;
    }
  }
  return place;
}

std::vector<SumPlace> sum_places(const OperatorCall& call, size_t terms, size_t most) {
  const int64_t n = elements_of(call), looked = std::min(n, kLooked);
  // A step that has nothing to do with any extent, so that it comes by edges and middles.
  int64_t step = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(n) * 0.6180339887));
  while (std::gcd(step, n) != 1) ++step;
  std::vector<SumPlace> places;
  for (int64_t i = 0; i < looked && places.size() < most; ++i) {
    auto place = sum_place(call, (n / 2 + i * step) % n);
    if (place && place->terms.size() == terms) places.push_back(*std::move(place));
  }
  return places;
}

std::optional<SumPlace> differing_place(const OperatorCall& call, const Tensor& a, const Tensor& b) {
  std::vector<int64_t> differ;
  for (int64_t e = 0; e < a.elements(); ++e) {
    if (numerics::bits_of(a.data<float>()[e]) != numerics::bits_of(b.data<float>()[e])) differ.push_back(e);
  }
  std::optional<SumPlace> best;
  const size_t looked = std::min(differ.size(), static_cast<size_t>(kLooked));
  for (size_t i = 0; i < looked; ++i) {
    auto place = sum_place(call, differ[i * differ.size() / looked]);
    if (place && place->terms.size() > 1 && (!best || place->terms.size() > best->terms.size())) best = place;
  }
  return best;
}

std::optional<int64_t> divisor_of(OperatorRun& run, const OperatorCall& call, const SumPlace& place) {
  if (!place.weights.empty()) return 1;
  OperatorSum sum(run, call, place);
  std::vector<double> terms(place.terms.size(), 0);
  terms[0] = 1;
  double one = 0;
  if (!sum.sums(1, terms.data(), &one) || !(one > 0)) return std::nullopt;
  const double n = std::round(1 / one);
  if (n < 1 || n > static_cast<double>(1 << 24) || std::abs(one * n - 1) > 1e-6) return std::nullopt;
  return static_cast<int64_t>(n);
}

OperatorSum::OperatorSum(OperatorRun& run, const OperatorCall& call, const SumPlace& place, int64_t divisor)
    : run_(&run), place_(&place), divisor_(static_cast<double>(divisor)) {
  for (const Tensor& real : call.inputs) inputs_.push_back(Tensor::zeros(real.dtype(), real.shape()));
  for (const int64_t w : place.weights) inputs_[1].data<float>()[w] = 1;
}

Status OperatorSum::weigh(const double* weights) {
  for (size_t k = 0; k < place_->weights.size(); ++k) {
    inputs_[1].data<float>()[place_->weights[k]] = static_cast<float>(weights[k]);
  }
  return {};
}

Status OperatorSum::sums(int64_t count, const double* terms, double* results) {
  const size_t k = place_->terms.size();
  for (int64_t q = 0; q < count; ++q) {
    float* const to = inputs_[0].data<float>();
    for (size_t t = 0; t < k; ++t) to[place_->terms[t]] = static_cast<float>(terms[static_cast<size_t>(q) * k + t]);
    ISOBIT_TRY(const std::vector<Tensor> outputs, (*run_)(inputs_));
    results[q] = static_cast<double>(outputs[0].data<float>()[place_->element]) * divisor_;
  }
  return {};
}

}  // namespace isobit::lab::explain
