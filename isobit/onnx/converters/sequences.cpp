// Sequences whose length and places are known are no more than several values: they are taken apart while the graph is
// made. (Exporters write torch.split and torch.chunk so.)
#include "isobit/base/text.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

constexpr size_t kMostItems = 1 << 16;

Status check_length(const Conversion& c, size_t items) {
  if (items <= kMostItems) return {};
  return c.error(text_of("a sequence of ", items, " values, expected at most ", kMostItems));
}

// Owned by the operand.
Expected<const Operands*> items_of(const Conversion& c, int i) {
  ISOBIT_RETURN_IF_ERROR(c.expect(i));
  if (!c.in(i)->is_sequence) return c.error(text_of("input ", i, " is no sequence"));
  return &c.in(i)->items;
}

Expected<Operands> sequence(Conversion& c, Operands items) {
  ISOBIT_RETURN_IF_ERROR(check_length(c, items.size()));
  // Every sequence has a list of its own.
  if (const Status counted = c.importer().count_bytes(sizeof(Operand) * items.size()); !counted) {
    return c.error(counted.error());
  }
  items.shrink_to_fit();
  return Operands{c.frame().sequence(c.base_name(), std::move(items))};
}

// A place in a sequence of `count` values, from the end where negative, or with `behind` the one behind the last;
// `fallback` where there is no input i.
Expected<size_t> place(const Conversion& c, int i, size_t count, int64_t fallback, bool behind = false) {
  int64_t at = fallback;
  if (c.has(i)) {
    const auto values = c.integers(c.in(i));
    if (!values || values->size() != 1) return c.error("a place in the sequence is not known before the run");
    at = values->front();
  }
  const auto n = static_cast<int64_t>(count);
  if (at < -n || at >= n + (behind ? 1 : 0)) return c.error(text_of("place ", at, " of a sequence of ", n));
  return static_cast<size_t>(at < 0 ? at + n : at);
}

Expected<Operands> construct(Conversion& c) {
  Operands items;
  for (int i = 0; i < c.input_count(); ++i) {
    ISOBIT_RETURN_IF_ERROR(c.expect(i));
    if (c.in(i)->is_sequence) return c.error("a sequence of sequences");
    items.push_back(c.in(i));
  }
  return sequence(c, std::move(items));
}

Expected<Operands> insert(Conversion& c) {
  ISOBIT_TRY(const Operands* before, items_of(c, 0));
  ISOBIT_RETURN_IF_ERROR(c.expect(1));
  if (c.in(1)->is_sequence) return c.error("a sequence of sequences");
  ISOBIT_TRY(const size_t at, place(c, 2, before->size(), static_cast<int64_t>(before->size()), true));
  ISOBIT_RETURN_IF_ERROR(check_length(c, before->size() + 1));
  Operands items = *before;
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), c.in(1));
  return sequence(c, std::move(items));
}

Expected<Operands> erase(Conversion& c) {
  ISOBIT_TRY(const Operands* before, items_of(c, 0));
  ISOBIT_TRY(const size_t at, place(c, 1, before->size(), -1));
  Operands items = *before;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return sequence(c, std::move(items));
}

Expected<Operands> item(Conversion& c) {
  ISOBIT_TRY(const Operands* items, items_of(c, 0));
  ISOBIT_RETURN_IF_ERROR(c.expect(1));
  ISOBIT_TRY(const size_t at, place(c, 1, items->size(), 0));
  return Operands{c.frame().local((*items)[at])};
}

Expected<Operands> length(Conversion& c) {
  ISOBIT_TRY(const Operands* items, items_of(c, 0));
  return Operands{c.frame().constant(c.output_name(0), Tensor::scalar(static_cast<int64_t>(items->size())))};
}

// The sizes of the parts of an axis of `extent`: as the input says, or 1 each.
Expected<std::vector<int64_t>> sizes_of(const Conversion& c, int64_t extent) {
  if (extent < 0) return c.error("the axis that is split has to be known before the run");
  if (!c.has(1)) return std::vector<int64_t>(static_cast<size_t>(extent), 1);
  const auto given = c.integers(c.in(1));
  if (!given) return c.error("the sizes of the parts have to be known before the run");
  if (!c.dims(c.in(1)).empty()) {
    ISOBIT_RETURN_IF_ERROR(check_length(c, given->size()));
    return *given;
  }
  const int64_t each = given->front();
  if (each < 1) return c.error(text_of("parts of ", each, " places"));
  std::vector<int64_t> sizes(static_cast<size_t>(extent / each), each);
  if (extent % each != 0) sizes.push_back(extent % each);
  return sizes;
}

Expected<Operands> split(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(int64_t axis, c.integer("axis", 0));
  ISOBIT_TRY(const int64_t keep, c.integer("keepdims", 1));
  if (!c.has_rank(c.in(0))) return c.error("the rank of the input is not known before the run");
  const auto rank = static_cast<int64_t>(c.dims(c.in(0)).size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return c.error(text_of("axis ", axis, " is outside a tensor of rank ", rank));
  const int64_t extent = c.dims(c.in(0))[static_cast<size_t>(axis)];
  if (extent > static_cast<int64_t>(kMostItems))
    return c.error(text_of("an axis of ", extent, " is too long to be split"));
  ISOBIT_TRY(const auto sizes, sizes_of(c, extent));
  std::vector<std::string> names;
  for (size_t i = 0; i < sizes.size(); ++i) names.push_back(c.inner_name(text_of(i)));
  ISOBIT_TRY(Operands items, c.emit_all("Split", {c.in(0)}, {{"axis", axis}, {"split", sizes}}, std::move(names)));
  for (size_t i = 0; keep == 0 && !c.has(1) && i < items.size(); ++i) {
    ISOBIT_TRY(items[i], c.inner("Squeeze", {items[i]}, {{"axes", std::vector<int64_t>{axis}}}, text_of("item", i)));
  }
  return sequence(c, std::move(items));
}

Expected<Operands> concatenated(Conversion& c) {
  ISOBIT_TRY(const Operands* sequence, items_of(c, 0));
  Operands items = *sequence;
  if (items.empty()) return c.error("a sequence without values");
  ISOBIT_TRY(const int64_t axis, c.integer("axis", 0));
  ISOBIT_TRY(const int64_t new_axis, c.integer("new_axis", 0));
  for (size_t i = 0; i < items.size(); ++i) {
    items[i] = c.frame().local(items[i]);
    if (new_axis == 0) continue;
    ISOBIT_TRY(items[i], c.inner("Unsqueeze", {items[i]}, {{"axes", std::vector<int64_t>{axis}}}, text_of("item", i)));
  }
  return c.last("Concat", std::move(items), {{"axis", axis}});
}

}  // namespace

void add_sequence_rows(Table& table) {
  table.own("SequenceConstruct", construct).moves().sequences();
  table.own("SequenceEmpty", [](Conversion& c) { return sequence(c, {}); }).moves();
  table.own("SequenceInsert", insert).moves().sequences();
  table.own("SequenceErase", erase).moves().sequences();
  table.own("SequenceAt", item).moves().sequences();
  table.own("SequenceLength", length).moves().sequences();
  table.own("SplitToSequence", split).to("Split").moves();
  table.own("ConcatFromSequence", concatenated).to("Concat").moves().sequences();
}

}  // namespace isobit::onnx
