#include "isobit/kernels/vendor/algorithms/over_own.h"

#include <cstdio>

#include "isobit/base/text.h"

namespace isobit::kernels::algorithms {

OverOwn::OverOwn(std::unique_ptr<InnerProducts<float>> own) : own_(std::move(own)) { ISOBIT_CHECK(own_ != nullptr); }

Status OverOwn::run_own(const Call& call) {
  return own_->conv_forward(call.shape, call.src, call.weights, call.bias, call.dst);
}

AskedFor::AskedFor(std::unique_ptr<InnerProducts<float>> own, Candidate candidate)
    : OverOwn(std::move(own)), candidate_(std::move(candidate)) {
  ISOBIT_CHECK(candidate_.algorithm != nullptr);
}

Status AskedFor::conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias,
                              float* dst) {
  const Call call{shape, src, weights, bias, dst};
  std::string refused = candidate_.algorithm->refuses(shape);
  const bool taken = refused.empty();
  ISOBIT_RETURN_IF_ERROR(taken ? candidate_.algorithm->forward(call) : run_own(call));
  last_ = {taken ? candidate_.name : kOwn, taken ? "" : text_of(candidate_.name, ": ", refused)};
  return {};
}

Fastest::Fastest(std::unique_ptr<InnerProducts<float>> own, std::vector<Candidate> candidates, Clock clock)
    : OverOwn(std::move(own)), candidates_(std::move(candidates)), clock_(std::move(clock)) {
  ISOBIT_CHECK(clock_ != nullptr);
}

Fastest::Key Fastest::key_of(const Call& call) {
  const ConvShape& s = call.shape;
  return {s.n,
          s.ic,
          s.ih,
          s.iw,
          s.oc,
          s.kh,
          s.kw,
          s.stride_h,
          s.stride_w,
          s.pad_top,
          s.pad_left,
          s.pad_bottom,
          s.pad_right,
          s.dilation_h,
          s.dilation_w,
          s.groups,
          call.bias != nullptr};
}

const std::string& Fastest::name_of(size_t candidate) const {
  return candidate == 0 ? own_name_ : candidates_[candidate - 1].name;
}

Status Fastest::run(size_t candidate, const Call& call) {
  return candidate == 0 ? run_own(call) : candidates_[candidate - 1].algorithm->forward(call);
}

Status Fastest::race(const Call& call, Winner& winner) {
  double best = 0;
  for (size_t c = 0; c <= candidates_.size(); ++c) {
    if (c > 0 && !candidates_[c - 1].algorithm->refuses(call.shape).empty()) continue;
    const double begin = clock_();
    ISOBIT_RETURN_IF_ERROR(run(c, call));
    const double seconds = clock_() - begin;
    if (winner.runs.empty() || seconds < best) best = seconds, winner.candidate = c;
    winner.runs.push_back({c, seconds});
  }
  // dst has what the last one computed.
  if (winner.candidate == winner.runs.back().candidate) return {};
  return run(winner.candidate, call);
}

std::string Fastest::told(const Winner& winner) const {
  std::string text = text_of("fastest of ", winner.runs.size(), ", timed once:");
  for (const Run& r : winner.runs) {
    char time[32];
    std::snprintf(time, sizeof time, " %.3f ms", r.seconds * 1e3);
    text += text_of(&r == winner.runs.data() ? " " : ", ", name_of(r.candidate), time);
  }
  return text;
}

Status Fastest::conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias,
                             float* dst) {
  const Call call{shape, src, weights, bias, dst};
  const Key key = key_of(call);
  auto known = winners_.find(key);
  if (known == winners_.end()) {
    Winner winner;
    ISOBIT_RETURN_IF_ERROR(race(call, winner));
    if (winners_.size() >= kMostShapes) winners_.clear();
    known = winners_.emplace(key, std::move(winner)).first;
  } else {
    ISOBIT_RETURN_IF_ERROR(run(known->second.candidate, call));
  }
  last_ = {name_of(known->second.candidate), told(known->second)};
  return {};
}

}  // namespace isobit::kernels::algorithms
