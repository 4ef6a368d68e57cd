#include "isobit/lab/reveal/summation.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/lab/reveal/reveal.h"
#include "isobit/lab/reveal/triples.h"

namespace isobit::lab::reveal {

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> names = {"sum", "dot", "matmul", "conv", "mean", "softmax"};
  return names;
}

const char* name_of(Target target) { return target_names()[static_cast<size_t>(target)].c_str(); }

Expected<Target> parse_target(std::string_view name) {
  const auto& names = target_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Target>(found - names.begin());
  const std::string near = nearest_word(name, names);
  return usage_error(text_of("target '", name, "' is not known", near.empty() ? "" : "; did you mean '" + near + "'?",
                             " Known are ", join_or(names)));
}

Expected<Format> parse_format(std::string_view field, std::string_view name) {
  for (const Format format : {Format::kFloat32, Format::kFloat64}) {
    if (name == name_of(format)) return format;
  }
  return usage_error(text_of(field, ": found '", name, "', expected float32 or float64"));
}

ConvForm SumRequest::conv_form() const {
  if (conv) return *conv;
  ConvForm form;
  form.ic = k / (window * window);
  form.kh = form.kw = window;
  form.ih = form.iw = window + kConvMargin;
  form.oc = kConvOutputs;
  return form;
}

namespace {

// Sizes within what a kernel is asked for in a moment, and an output that has K terms.
Status check_form(const ConvForm& f, int64_t k) {
  constexpr int64_t kMost = int64_t{1} << 24;
  const auto wrong = [](const char* field, int64_t found) {
    return usage_error(text_of("form of the convolution: ", field, ": found ", found));
  };
  for (const auto& [field, size] : {std::pair("channels", f.ic),
                                    {"height", f.ih},
                                    {"width", f.iw},
                                    {"outputs", f.oc},
                                    {"window's height", f.kh},
                                    {"window's width", f.kw},
                                    {"stride", f.stride_h},
                                    {"stride", f.stride_w}}) {
    if (size < 1 || size > kMost) return wrong(field, size);
  }
  for (const int64_t pad : {f.pad_top, f.pad_left, f.pad_bottom, f.pad_right}) {
    if (pad < 0 || pad > kMost) return wrong("padding", pad);
  }
  if (f.axes != 1 && f.axes != 2) return wrong("axes", f.axes);
  if (f.kh > kMost / f.kw || f.ic > kMost / (f.kh * f.kw)) return wrong("channels of the window", f.ic);
  if (f.ih > kMost / f.iw || f.ic > kMost / (f.ih * f.iw)) return wrong("channels of the image", f.ic);
  if (f.channel < 0 || f.channel >= f.oc) return wrong("channel", f.channel);
  if (f.ih + f.pad_top + f.pad_bottom < f.kh || f.row < 0 || f.row >= f.rows()) return wrong("row", f.row);
  if (f.iw + f.pad_left + f.pad_right < f.kw || f.column < 0 || f.column >= f.columns())
    return wrong("column", f.column);
  if (f.tap_rows() < 1 || f.tap_columns() < 1 || f.terms() != k) return wrong("terms", k);
  if (f.rows() > kMost / f.columns() || f.oc > kMost / (f.rows() * f.columns())) return wrong("outputs", f.oc);
  return {};
}

}  // namespace

Status check(const SumRequest& r) {
  const auto within = [](const char* field, int64_t found, int64_t most) -> Status {
    if (found >= 1 && found <= most) return {};
    return usage_error(text_of(field, ": found ", found, ", expected 1 to ", most));
  };
  const bool positive = r.target == Target::kSoftmax;
  ISOBIT_RETURN_IF_ERROR(
      within(positive ? "--k of a softmax" : "--k", r.k, positive ? kMostPositiveTerms : kMostTerms));
  ISOBIT_RETURN_IF_ERROR(within("--m", r.m, kMostRows));
  ISOBIT_RETURN_IF_ERROR(within("--n", r.n, kMostRows));
  ISOBIT_RETURN_IF_ERROR(within("--window", r.window, 64));
  if (r.column < 0 || r.column >= r.n) {
    return usage_error(text_of("--column: found ", r.column, ", expected 0 to ", r.n - 1));
  }
  if (r.target == Target::kConv && r.conv) return check_form(*r.conv, r.k);
  if (r.target == Target::kConv && r.k % (r.window * r.window) != 0) {
    return usage_error(text_of("--k: found ", r.k, " terms of a convolution, expected a multiple of ",
                               r.window * r.window, ", the places of its window (--window ", r.window, ")"));
  }
  return {};
}

}  // namespace isobit::lab::reveal
