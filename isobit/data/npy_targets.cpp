#include "isobit/data/npy_targets.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/data/npy_elements.h"

namespace isobit::data {
namespace {

// As it is stored: what is merely near to one of them is not.
template <class T>
bool is_zero_or_one(T v) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    return is_zero_or_one(numerics::widened(v));
  } else {
    return v == T{0} || v == T{1};
  }
}

// What a file is taken for where the job does not say it.
Expected<TargetKind> kind_by_type(const NpyColumn& column) {
  const bool vector = column.shape().rank() == 1;
  if (RealTypes::contains(column.dtype())) return TargetKind::kRegression;
  if (column.dtype() == DType::kBool && !vector) return TargetKind::kMultiLabel;
  if (column.shape().rank() == 2 && column.shape()[1] == 1) {
    return unreadable(text_of(column.file(), ": found targets of type ", name_of(column.dtype()), " and shape ",
                              column.shape().text(), ", expected [samples] for one class each or [samples, tokens]; ",
                              "reshape them or set data.target"));
  }
  return vector ? TargetKind::kClass : TargetKind::kClassPerToken;
}

// The words for what a file of that kind has.
const char* expected_of(TargetKind kind) {
  switch (kind) {
    case TargetKind::kNone:
      break;
    case TargetKind::kClass:
      return "whole numbers [samples]";
    case TargetKind::kClassPerToken:
      return "whole numbers [samples, tokens]";
    case TargetKind::kMultiLabel:
      return "0 or 1 [samples, labels]";
    case TargetKind::kRegression:
      return "numbers [samples, ...]";
  }
  return "no file";
}

Status check_form(TargetKind kind, const NpyColumn& column) {
  const int rank = column.shape().rank();
  bool fits = true;
  if (kind == TargetKind::kClass)
    fits = !RealTypes::contains(column.dtype()) && column.row_elements() == 1 && rank <= 2;
  if (kind == TargetKind::kClassPerToken) fits = !RealTypes::contains(column.dtype()) && rank >= 2;
  if (kind == TargetKind::kRegression) fits = column.dtype() != DType::kBool;
  if (fits) return {};
  return unreadable(text_of(column.file(), ": found targets of type ", name_of(column.dtype()), " and shape ",
                            column.shape().text(), ", expected ", expected_of(kind), " for data.target = \"",
                            target_kind_names()[static_cast<size_t>(kind)], "\"; convert them or set another kind"));
}

tl::unexpected<Error> bad_label(const NpyColumn& column, int64_t element, const std::string& found,
                                const std::string& expected) {
  return unreadable(text_of(column.file(), ": label of sample ", element / column.row_elements(), ": found ", found,
                            ", expected ", expected, "; correct the labels or say data.target and data.classes"));
}

// Calls wrong(v) on every element until it is true: kUnreadable with that element.
template <class Wrong>
Status check_each(const NpyColumn& column, const std::string& expected, const Wrong& wrong) {
  return column.scan([&](int64_t first, ByteView elements) -> Status {
    int64_t at = first, bad = -1;
    std::string found;
    for_each_element(column.dtype(), elements, [&](auto v) {
      if (bad < 0 && wrong(v)) {
        bad = at;
        found = text_of_element(v);
      }
      ++at;
    });
    if (bad < 0) return {};
    return bad_label(column, bad, found, expected);
  });
}

// Looks at every element; the largest class, of kinds that have classes.
Expected<int64_t> check_values(TargetKind kind, const NpyColumn& column, int64_t most_classes) {
  if (kind == TargetKind::kMultiLabel) {
    ISOBIT_RETURN_IF_ERROR(check_each(column, "0 or 1", [](auto v) { return !is_zero_or_one(v); }));
    return 0;
  }
  if (kind == TargetKind::kRegression) {
    ISOBIT_RETURN_IF_ERROR(
        check_each(column, "a finite float32", [](auto v) { return !std::isfinite(as_float32(v)); }));
    return 0;
  }
  int64_t largest = column.dtype() == DType::kBool ? 1 : 0;
  ISOBIT_RETURN_IF_ERROR(check_each(column, text_of("0 to ", most_classes - 1), [&](auto v) {
    const int64_t label = as_whole(v);
    largest = std::max(largest, label);
    return label < 0 || label >= most_classes;
  }));
  return largest;
}

bool has_classes(TargetKind kind) { return kind == TargetKind::kClass || kind == TargetKind::kClassPerToken; }

Target target_of(TargetKind kind, const NpyColumn& column) {
  Target target{kind, has_classes(kind) ? DType::kInt64 : DType::kFloat32, column.row_shape(), 0};
  if (kind == TargetKind::kClass) target.shape.clear();
  if (kind == TargetKind::kMultiLabel) target.classes = column.row_elements();
  return target;
}

}  // namespace

Expected<NpyTargets> NpyTargets::open(const std::string& file, const std::string& test_file, TargetRule rule,
                                      int64_t classes, FileBudget& budget) {
  NpyTargets targets;
  ISOBIT_TRY(targets.train_, NpyColumn::open(file, budget));
  TargetKind kind = TargetKind::kNone;
  if (rule == TargetRule::kByType) {
    ISOBIT_TRY(kind, kind_by_type(*targets.train_));
  } else {
    kind = *kind_of(rule);
  }
  targets.target_ = target_of(kind, *targets.train_);
  if (classes != 0 && !has_classes(kind)) {
    return unreadable(text_of("data.classes: found ", classes, ", expected none for targets of kind ",
                              target_kind_names()[static_cast<size_t>(kind)], " (", file, "); remove it"));
  }
  const int64_t most = classes != 0 ? classes : kMaxClasses;
  ISOBIT_RETURN_IF_ERROR(check_form(kind, *targets.train_));
  ISOBIT_TRY(int64_t largest, check_values(kind, *targets.train_, most));
  if (!test_file.empty()) {
    ISOBIT_TRY(targets.test_, NpyColumn::open(test_file, budget));
    ISOBIT_RETURN_IF_ERROR(check_form(kind, *targets.test_));
    if (target_of(kind, *targets.test_).shape != targets.target_.shape) {
      return unreadable(text_of(test_file, ": found targets of shape ", targets.test_->shape().text(),
                                ", expected the same axes behind the first as in ", file, ", which has ",
                                targets.train_->shape().text(), "; use files that belong together"));
    }
    ISOBIT_TRY(const int64_t largest_test, check_values(kind, *targets.test_, most));
    largest = std::max(largest, largest_test);
  }
  if (has_classes(kind)) targets.target_.classes = classes != 0 ? classes : largest + 1;
  return targets;
}

size_t NpyTargets::bytes() const {
  if (target_.kind == TargetKind::kNone) return 0;
  return static_cast<size_t>(Shape(target_.shape).elements()) * size_of(target_.dtype);
}

uint64_t NpyTargets::held_bytes() const {
  return (train_ ? train_->held_bytes() : 0) + (test_ ? test_->held_bytes() : 0);
}

void NpyTargets::ignore_times() {
  for (std::optional<NpyColumn>* column : {&train_, &test_}) {
    if (*column) (*column)->ignore_times();
  }
}

Status NpyTargets::fill(Split split, int64_t index, void* to) const {
  ScratchVector<uint8_t> scratch;
  ISOBIT_TRY(const ByteView row, column(split)->row(index, scratch));
  if (has_classes(target_.kind)) {
    auto* labels = static_cast<int64_t*>(to);
    for_each_element(column(split)->dtype(), row, [&](auto v) { *labels++ = as_whole(v); });
  } else {
    // Of several labels a -0 is the 0 that it is equal to; adding +0 changes nothing else.
    const bool labels = target_.kind == TargetKind::kMultiLabel;
    auto* values = static_cast<float*>(to);
    for_each_element(column(split)->dtype(), row,
                     [&](auto v) { *values++ = labels ? as_float32(v) + 0.0f : as_float32(v); });
  }
  return {};
}

}  // namespace isobit::data
