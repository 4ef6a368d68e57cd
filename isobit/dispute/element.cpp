#include "isobit/dispute/element.h"

#include <algorithm>
#include <cstdio>

#include "isobit/base/text.h"
#include "isobit/judge/words.h"
#include "isobit/kernels/context.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/tensor/convert.h"

namespace isobit::dispute {
namespace {

void ask_for(judge::Question& question, const train::TraceEntry& entry, int64_t element) {
  const auto place = static_cast<size_t>(entry.place);
  if (entry.kind == train::TraceEntry::Kind::kStatistic) {
    question.where.statistic = place;
  } else {
    question.where.output = place;
  }
  question.where.element = element;
}

std::string hex_word(judge::Bits bits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  return text;
}

// Whoever signed for a schema may have written anything into it: an entry that is none of the node has no elements that
// the node could be asked for.
Status check_entry(const ResolvedNode& node, const train::TraceEntry& entry) {
  const auto place = static_cast<size_t>(entry.place);  // a negative one is too large
  bool same = false;
  if (entry.kind == train::TraceEntry::Kind::kOutput && place < node.node().outputs.size()) {
    const graph::ValueId id = node.node().outputs[place];
    if (id != graph::kNoValue) {
      const graph::Value& value = node.graph->value(id);
      same = value.dtype == entry.dtype && value.dims == entry.dims;
    }
  } else if (entry.kind == train::TraceEntry::Kind::kStatistic) {
    const auto statistics = graph::statistics_of(*node.graph, node.node());
    same = place < statistics.size() && statistics[place].dims == entry.dims &&
           node.operands[0].identity.dtype == entry.dtype;
  }
  if (same) return {};
  return rejected(text_of("the schema says of '", entry.name, "' what the node that makes it does not"));
}

}  // namespace

void write(ByteWriter& w, const std::vector<ShownPart>& parts) {
  w.u64(parts.size());
  for (const ShownPart& p : parts) {
    w.boolean(p.of_statistic);
    w.u32(p.index);
    write(w, p.tiles);
  }
}

Expected<std::vector<ShownPart>> read_parts(ByteReader& r, const std::string& what) {
  ISOBIT_TRY(const uint64_t count, r.u64("parts"));
  std::vector<ShownPart> parts;
  for (uint64_t i = 0; i < count; ++i) {
    ShownPart part;
    ISOBIT_TRY(part.of_statistic, r.boolean("statistic"));
    ISOBIT_TRY(part.index, r.u32("index"));
    const auto key = [](const ShownPart& p) { return std::pair(p.of_statistic, p.index); };
    if (i > 0 && key(parts.back()) >= key(part)) return r.fail("index", "the parts are not in order");
    ISOBIT_TRY(part.tiles, read_shown_tiles(r, what));
    parts.push_back(std::move(part));
  }
  return parts;
}

Expected<std::map<uint32_t, std::set<uint64_t>>> Element::guide_tiles(const ResolvedNode& node,
                                                                      const train::TraceEntry& entry, int64_t element,
                                                                      std::function<const Tensor*(int)> operand) {
  const judge::GuideOf guide = [&operand](int i, int64_t e) -> std::optional<judge::Bits> {
    const Tensor* tensor = operand(i);
    return tensor == nullptr ? std::nullopt : std::optional(judge::bits_of(*tensor, e));
  };
  ISOBIT_TRY(judge::Question question, judge::ask_about(*node.graph, node.node(), operand, guide));
  ask_for(question, entry, element);
  std::map<uint32_t, std::set<uint64_t>> tiles;
  for (const judge::WholeOperand& whole : judge::whole_operands(question)) {
    const auto i = static_cast<uint32_t>(whole.input);
    for (int64_t t = 0; t < node.operands[i].identity.grid().tiles(); ++t) tiles[i].insert(static_cast<uint64_t>(t));
  }
  for (size_t stage = 0; stage < judge::guide_stages(question); ++stage) {
    ISOBIT_TRY(const auto guides, judge::guides_of(question, stage));
    for (const graph::ElementSource& s : guides) {
      const auto i = static_cast<uint32_t>(s.input);
      tiles[i].insert(static_cast<uint64_t>(node.operands[i].identity.grid().place_of(s.element).tile));
    }
  }
  return tiles;
}

std::optional<judge::Bits> Element::known(uint32_t input, int64_t element) const {
  if (wholes_[input]) return judge::bits_of(*wholes_[input], element);
  const auto guide = guides_.find(input);
  if (guide == guides_.end()) return std::nullopt;
  const auto bits = guide->second.bits(element);
  return bits ? std::optional(node_.operands[input].read(*bits)) : std::nullopt;
}

Expected<std::unique_ptr<Element>> Element::open(const Subject& subject, ResolvedNode node,
                                                 const std::vector<train::TraceEntry>& schema,
                                                 const std::vector<commit::Digest>& roots, uint64_t entry,
                                                 int64_t element, const std::vector<ShownPart>& guides) {
  std::unique_ptr<Element> opened(new Element(subject, std::move(node), schema, roots, entry));
  ISOBIT_RETURN_IF_ERROR(opened->prepare(element, guides));
  return opened;
}

Status Element::prepare(int64_t element, const std::vector<ShownPart>& guides) {
  ISOBIT_RETURN_IF_ERROR(check_entry(node_, schema_[entry_]));
  for (const uint64_t statistic : node_.statistics) ISOBIT_RETURN_IF_ERROR(check_entry(node_, schema_[statistic]));
  if (element < 0 || element >= Shape(schema_[entry_].dims).elements()) {
    return rejected(text_of("'", schema_[entry_].name, "' has no element ", element));
  }
  wholes_.resize(node_.operands.size());
  for (size_t i = 0; i < node_.operands.size(); ++i) wholes_[i] = node_.operands[i].whole;
  for (const ShownPart& part : guides) {
    if (part.of_statistic) return rejected("a statistic says nowhere");
    ISOBIT_TRY(ShownTensor shown, open_part(part));
    if (auto whole = shown.whole()) {
      wholes_[part.index] = node_.operands[part.index].narrows ? converted(*whole, DType::kFloat32) : std::move(*whole);
    }
    guides_.emplace(part.index, std::move(shown));
  }
  const auto operand = [this](int i) -> const Tensor* {
    const std::optional<Tensor>& whole = wholes_[static_cast<size_t>(i)];
    return whole ? &*whole : nullptr;
  };
  const auto guide = [this](int i, int64_t e) { return known(static_cast<uint32_t>(i), e); };
  ISOBIT_TRY(judge::Question question, judge::ask_about(*node_.graph, node_.node(), operand, guide));
  question_.emplace(std::move(question));
  ask_for(*question_, schema_[entry_], element);
  ISOBIT_RETURN_IF_ERROR(judge::check_guides(*question_));
  if (subject_.arithmetic.rounds && question_->def().is_inner_product() && !question_->where.statistic &&
      question_->where.output == 0) {
    ISOBIT_TRY(product_, judge::LoggedProduct::of(*question_));
    chunks_ = std::max<int64_t>(1, product_->chunks());
    return {};
  }
  if (auto reduction = judge::Reduction::of(*question_, subject_.arithmetic); reduction && (*reduction)->chunks() > 1) {
    reduction_ = std::move(*reduction);
    chunks_ = reduction_->chunks();
    return {};
  }
  ISOBIT_TRY(all_, judge::needs_of(*question_));
  return {};
}

Expected<ShownTensor> Element::open_part(const ShownPart& part) const {
  const auto of_trace = [&](uint64_t entry) -> Expected<ShownTensor> {
    if (entry >= entry_) return rejected(text_of("value ", entry, " is none of those that are agreed on"));
    return ShownTensor::open(TensorIdentity::of(schema_[entry]), roots_[entry], part.tiles);
  };
  if (part.of_statistic) {
    if (part.index >= node_.statistics.size()) return rejected(text_of("the node has no statistic ", part.index));
    return of_trace(node_.statistics[part.index]);
  }
  if (part.index >= node_.operands.size()) return rejected(text_of("the node has no input ", part.index));
  const Operand& operand = node_.operands[part.index];
  if (operand.from == Operand::From::kAbsent) return rejected(text_of("the node has no input ", part.index));
  if (operand.from == Operand::From::kTrace) return of_trace(operand.entry);
  return ShownTensor::open(operand.identity, operand.root, part.tiles);
}

std::vector<graph::ElementSource> Element::once() const {
  if (product_) return product_->once();
  return reduction_ ? reduction_->once() : std::vector<graph::ElementSource>{};
}

std::vector<graph::ElementSource> Element::of_chunk(int64_t chunk) const {
  if (product_) return product_->chunks() == 0 ? std::vector<graph::ElementSource>{} : product_->needs(chunk);
  return reduction_ ? reduction_->needs(chunk) : all_;
}

std::vector<graph::ElementSource> Element::needs(int64_t chunk) const {
  std::vector<graph::ElementSource> needs = once();
  const std::vector<graph::ElementSource> more = of_chunk(chunk);
  needs.insert(needs.end(), more.begin(), more.end());
  return needs;
}

TensorIdentity Element::identity_of(bool of_statistic, uint32_t index) const {
  return of_statistic ? TensorIdentity::of(schema_[node_.statistics[index]]) : node_.operands[index].identity;
}

Element::Tiles Element::tiles_needed(int64_t chunk) const {
  std::map<std::pair<bool, uint32_t>, commit::TileGrid> grids;
  Tiles tiles;
  for (const graph::ElementSource& s : needs(chunk)) {
    const auto input = static_cast<uint32_t>(s.input);
    if (!s.of_statistic && known(input, s.element)) continue;
    const std::pair of(s.of_statistic, input);
    auto grid = grids.find(of);
    if (grid == grids.end()) grid = grids.emplace(of, identity_of(s.of_statistic, input).grid()).first;
    tiles[of].insert(static_cast<uint64_t>(grid->second.place_of(s.element).tile));
  }
  return tiles;
}

Expected<Element::Values> Element::values(int64_t chunk, const std::vector<ShownPart>& shown) const {
  std::map<std::pair<bool, uint32_t>, ShownTensor> tensors;
  for (const ShownPart& part : shown) {
    ISOBIT_TRY(ShownTensor tensor, open_part(part));
    tensors.emplace(std::pair(part.of_statistic, part.index), std::move(tensor));
  }
  const auto read = [&](const std::vector<graph::ElementSource>& sources, std::vector<judge::Bits>& out) -> Status {
    for (const graph::ElementSource& s : sources) {
      const auto index = static_cast<uint32_t>(s.input);
      const auto at_hand = s.of_statistic ? std::nullopt : known(index, s.element);
      if (at_hand) {
        out.push_back(*at_hand);
        continue;
      }
      const auto found = tensors.find({s.of_statistic, index});
      if (found == tensors.end()) {
        return unreadable(
            text_of(s.of_statistic ? "statistic " : "operand ", index, " of node ", node_.index, " is not shown"));
      }
      ISOBIT_TRY(const judge::Bits bits, found->second.bits(s.element));
      out.push_back(s.of_statistic ? bits : node_.operands[index].read(bits));
    }
    return {};
  };
  Values values;
  ISOBIT_RETURN_IF_ERROR(read(once(), values.once));
  ISOBIT_RETURN_IF_ERROR(read(of_chunk(chunk), values.of_chunk));
  return values;
}

Element::Values Element::values(int64_t chunk, const ValueOf& value_of) const {
  Values values;
  for (const graph::ElementSource& s : once()) values.once.push_back(value_of(s));
  for (const graph::ElementSource& s : of_chunk(chunk)) values.of_chunk.push_back(value_of(s));
  return values;
}

judge::State Element::begin(const Values& values) const {
  return product_ ? product_->begin() : reduction_->begin(values.once);
}

Expected<judge::State> Element::partial(int64_t chunk, const Values& values, const judge::State& before) const {
  return product_ ? product_->partial(chunk, values.of_chunk, before)
                  : reduction_->partial(values.once, chunk, values.of_chunk, before);
}

ElementRuling Element::compare(judge::Bits before_rounding, judge::Bits claimed) const {
  const judge::Bits expected = subject_.arithmetic.rounds
                                   ? judge::rounded(*question_, before_rounding, subject_.rounding.bits)
                                   : before_rounding;
  if (claimed == expected) return {true, expected, ""};
  return {false, expected, text_of("found ", hex_word(claimed), ", and its operands make ", hex_word(expected))};
}

Expected<judge::ExactElement> Element::exact(const Values& values, const judge::State* last) const {
  if (last != nullptr) return product_->finish(values.once, *last, subject_.rounding.bits);
  judge::State state = product_->begin();
  if (product_->chunks() == 1) {
    ISOBIT_TRY(state, product_->partial(0, values.of_chunk, state));
  }
  return product_->finish(values.once, state, subject_.rounding.bits);
}

runtime::Ruling Element::rule_on_entry(const judge::ExactElement& exact, const log::SparseEntry* entry) const {
  const int bits = subject_.rounding.bits;
  if (entry != nullptr && entry->kind == log::SparseEntry::Kind::kValue) {
    const double said = entry->value;
    if (!(kernels::rounding::round_to_bits(said, bits) == said)) return {runtime::Standing::kIllegal, said};
  }
  return runtime::rule_on_entry(exact.adds_exactly, exact.output, entry, bounds(), bits);
}

Expected<ElementRuling> Element::rule_by_exact_value(const Values& values, const judge::State* last,
                                                     judge::Bits claimed) const {
  ISOBIT_TRY(const judge::ExactElement exact, this->exact(values, last));
  const runtime::Ruling ruling = judge::rule_on_claim(exact, claimed, bounds(), subject_.rounding.bits);
  const judge::Bits nearest = judge::word_of(exact.output.rounded);
  if (ruling.taken()) return ElementRuling{true, nearest, ""};
  return ElementRuling{false, nearest,
                       text_of("found ", hex_word(claimed), ", which no sum of its terms rounds to; ",
                               "their exact value rounds to ", hex_word(nearest))};
}

Expected<ElementRuling> Element::rule(const Values& values, const judge::State& last, judge::Bits claimed) const {
  if (product_) return rule_by_exact_value(values, &last, claimed);
  ISOBIT_TRY(const judge::Bits bits, reduction_->finish(values.once, last));
  return compare(bits, claimed);
}

Expected<ElementRuling> Element::rule(const Values& values, judge::Bits claimed) const {
  if (product_) return rule_by_exact_value(values, nullptr, claimed);
  ThreadPool alone(1);
  const kernels::KernelContext ctx{kernels::Isa::kReference, &alone};
  ISOBIT_TRY(const judge::Bits bits, judge::evaluate(ctx, *question_, values.of_chunk, subject_.arithmetic));
  return compare(bits, claimed);
}

Expected<std::vector<judge::State>> Element::states(const ValueOf& value_of) const {
  std::vector<judge::State> states;
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const Values here = values(chunk, value_of);
    ISOBIT_TRY(judge::State behind, partial(chunk, here, chunk == 0 ? begin(here) : states.back()));
    states.push_back(std::move(behind));
  }
  return states;
}

}  // namespace isobit::dispute
