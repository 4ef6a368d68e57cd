#include "isobit/data/shown_sample.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "isobit/base/text.h"
#include "isobit/data/npy_elements.h"

namespace isobit::data {
namespace {

// Of tokens the target is the same ones, one further.
bool is_text(const DatasetHeader& header) { return header.name == "text"; }

size_t size_of_elements(const std::vector<int64_t>& shape, DType dtype) {
  return static_cast<size_t>(Shape(shape).elements()) * size_of(dtype);
}

bool all_finite(DType dtype, ByteView elements) {
  bool finite = true;
  for_each_element(dtype, elements, [&](auto v) { finite = finite && is_finite(v); });
  return finite;
}

// The first of them that is no class; -1 where all are.
int64_t first_bad_class(const int64_t* labels, int64_t n, int64_t classes) {
  const int64_t* bad = std::find_if(labels, labels + n, [&](int64_t v) { return v < 0 || v >= classes; });
  return bad == labels + n ? -1 : bad - labels;
}

// +0 or 1, in the one form that samples have.
bool is_label(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  return bits == 0 || bits == std::bit_cast<uint32_t>(1.0f);
}

}  // namespace

Expected<ShownSamples> ShownSamples::open(ByteView header, const std::string& what) {
  ShownSamples shown;
  shown.what_ = what;
  ISOBIT_TRY(shown.header_, decode_dataset_header(header, what));
  const DatasetHeader& h = shown.header_;
  for (size_t i = 0; i < h.inputs.size(); ++i) {
    const StoredInput& stored = h.stored[i];
    shown.rules_.push_back(preprocessing_named(stored.preprocessing, stored.stored, h.inputs[i].dtype).value());
    shown.input_sizes_.push_back(size_of_elements(h.inputs[i].shape, stored.stored));
    shown.sample_size_ += shown.input_sizes_.back();
  }
  if (is_text(h)) {
    shown.sample_size_ += size_of(h.stored[0].stored);
  } else if (h.target.kind != TargetKind::kNone) {
    shown.target_size_ = size_of_elements(h.target.shape, h.target.dtype);
    shown.sample_size_ += shown.target_size_;
  }
  return shown;
}

tl::unexpected<Error> ShownSamples::fail(const std::string& problem) const {
  return unreadable(text_of(what_, ": the sample: ", problem));
}

Expected<AugmentDraw> ShownSamples::draw(const BatchOptions& options, int64_t step, int64_t position) const {
  if (!options.augment.any()) return AugmentDraw{};
  if (!takes_augmentation()) return fail("the job augments it, which means nothing for samples of this dataset");
  const std::vector<int64_t>& shape = inputs()[0].shape;
  return draw_augment(options.seed, step, position, options.augment, shape[1], shape[2]);
}

Status ShownSamples::check_tokens(const int64_t* tokens) const {
  const Target& target = header_.target;
  const int64_t bad = first_bad_class(tokens, Shape(target.shape).elements(), target.classes);
  if (bad < 0) return {};
  return fail(text_of("token ", bad, ": found ", tokens[bad], ", expected 0 to ", target.classes - 1));
}

Status ShownSamples::fill_target(ByteView stored, void* to) const {
  const Target& target = header_.target;
  if (is_text(header_)) {
    rules_[0].apply(stored, to);
    return check_tokens(static_cast<const int64_t*>(to));
  }
  if (stored.empty()) return {};
  std::memcpy(to, stored.data(), stored.size());
  const int64_t n = Shape(target.shape).elements();
  const auto* values = static_cast<const float*>(to);
  switch (target.kind) {
    case TargetKind::kNone:
      break;
    case TargetKind::kClass:
    case TargetKind::kClassPerToken: {
      const auto* labels = static_cast<const int64_t*>(to);
      const int64_t bad = first_bad_class(labels, n, target.classes);
      if (bad < 0) break;
      return fail(text_of("label ", bad, ": found ", labels[bad], ", expected 0 to ", target.classes - 1));
    }
    case TargetKind::kMultiLabel:
      if (std::all_of(values, values + n, is_label)) break;
      return fail("a label is neither 0 nor 1");
    case TargetKind::kRegression:
      if (all_finite(DType::kFloat32, {static_cast<const uint8_t*>(to), stored.size()})) break;
      return fail("a target is not finite");
  }
  return {};
}

Status ShownSamples::fill_input(size_t input, ByteView stored, void* to) const {
  const Preprocessing& rule = rules_[input];
  rule.apply(stored, to);
  if (is_text(header_)) return check_tokens(static_cast<const int64_t*>(to));
  if (!rule.passes()) return {};
  const std::string& name = header_.inputs[input].name;
  if (rule.fed == DType::kBool && !std::ranges::all_of(stored, [](uint8_t b) { return b <= 1; })) {
    return fail(text_of("input \"", name, "\": a boolean is neither 0 nor 1"));
  }
  if (!all_finite(rule.fed, {static_cast<const uint8_t*>(to), stored.size()})) {
    return fail(text_of("input \"", name, "\": a number is not finite"));
  }
  return {};
}

Status ShownSamples::fill(ByteView sample, const AugmentDraw& draw, std::span<void* const> to_inputs,
                          void* to_target) const {
  ISOBIT_CHECK(to_inputs.size() == inputs().size());
  if (sample.size() != sample_size_) {
    return fail(text_of("found ", sample.size(), " bytes, expected ", sample_size_, " as the dataset's header says"));
  }
  if (!draw.identity() && !takes_augmentation()) return fail("found a draw for what is not augmented");
  const bool text = is_text(header_);
  const size_t token = size_of(header_.stored[0].stored);
  ISOBIT_RETURN_IF_ERROR(fill_target(text ? sample.subspan(token) : sample.first(target_size_), to_target));
  ByteView left = text ? sample : sample.subspan(target_size_);
  for (size_t i = 0; i < inputs().size(); ++i) {
    const ByteView stored = left.first(input_sizes_[i]);
    left = left.subspan(input_sizes_[i]);
    ISOBIT_RETURN_IF_ERROR(
        write_augmented(draw, inputs()[i].shape, to_inputs[i], [&](void* to) { return fill_input(i, stored, to); }));
  }
  return {};
}

}  // namespace isobit::data
