// One element of one value of a step, judged from what is shown of the node's operands.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isobit/dispute/shown_node.h"
#include "isobit/dispute/subject.h"
#include "isobit/judge/logged.h"
#include "isobit/judge/reduction.h"
#include "isobit/log/step_log.h"

namespace isobit::dispute {

// Tiles of an operand, or of a statistic, of the disputed node.
struct ShownPart {
  bool of_statistic = false;
  uint32_t index = 0;  // of the input, or the statistic
  ShownTiles tiles;
  bool operator==(const ShownPart&) const = default;
};
void write(ByteWriter& writer, const std::vector<ShownPart>& parts);
Expected<std::vector<ShownPart>> read_parts(ByteReader& reader, const std::string& what);

struct ElementRuling {
  bool right = false;
  std::optional<judge::Bits> expected;  // what it is, or of a logged product what its exact value rounds to
  std::string why;                      // of one that is not right
};

class Element {
 public:
  // schema and roots (tensor roots of the step's trace by entry, agreed on before `entry`) must outlive it, and so must
  // subject. `entry` is an output or statistic of the node. guides: of the operands that say where others are read, at
  // least what guide_tiles() names. Errors as ShownTensor::open; kUnreadable where the element cannot be judged from
  // what is shown.
  static Expected<std::unique_ptr<Element>> open(const Subject& subject, ResolvedNode node,
                                                 const std::vector<train::TraceEntry>& schema,
                                                 const std::vector<commit::Digest>& roots, uint64_t entry,
                                                 int64_t element, const std::vector<ShownPart>& guides);

  // For a party that has the operands: which tiles of which inputs say where the element is from (judge/question.h).
  static Expected<std::map<uint32_t, std::set<uint64_t>>> guide_tiles(const ResolvedNode& node,
                                                                      const train::TraceEntry& entry, int64_t element,
                                                                      std::function<const Tensor*(int)> operand);
  // What the guides, and the node's constants, say of an input's element; nothing: it is a ground to be shown.
  std::optional<judge::Bits> known(uint32_t input, int64_t element) const;

  const ResolvedNode& node() const { return node_; }
  int64_t element() const { return question_->where.element; }
  // Of a long sum: the number of its chunks, each of at most judge::Reduction::kMostTerms terms; 1: judged at once.
  int64_t chunks() const { return chunks_; }
  // What a chunk, and what is taken once, need; with one chunk all of it.
  std::vector<graph::ElementSource> needs(int64_t chunk) const;
  // Of inputs (false) and statistics (true), by number: the tiles that hold what needs() names and known() does not.
  using Tiles = std::map<std::pair<bool, uint32_t>, std::set<uint64_t>>;
  Tiles tiles_needed(int64_t chunk) const;
  TensorIdentity identity_of(bool of_statistic, uint32_t index) const;

  // The elements that needs() names, out of tiles. Errors as open.
  struct Values {
    std::vector<judge::Bits> once, of_chunk;
  };
  Expected<Values> values(int64_t chunk, const std::vector<ShownPart>& shown) const;
  // The same out of whole tensors, for a party that has them.
  using ValueOf = std::function<judge::Bits(const graph::ElementSource&)>;
  Values values(int64_t chunk, const ValueOf& value_of) const;

  // REQUIRES chunks() > 1. Before the first chunk; behind a chunk; and what the element then is.
  judge::State begin(const Values& values) const;
  Expected<judge::State> partial(int64_t chunk, const Values& values, const judge::State& before) const;
  Expected<ElementRuling> rule(const Values& values, const judge::State& last, judge::Bits claimed) const;
  // REQUIRES chunks() == 1.
  Expected<ElementRuling> rule(const Values& values, judge::Bits claimed) const;

  // Whether the element is one of which a log may have an entry: an inner product of an arithmetic that rounds.
  bool is_logged() const { return product_.has_value(); }
  // REQUIRES is_logged(). Its exact value; last: the state behind the last chunk of a long sum, else null. And what a
  // log with this entry, or without one, makes of it, by the rule that auditors have (runtime/stages/legality.h).
  Expected<judge::ExactElement> exact(const Values& values, const judge::State* last) const;
  runtime::Ruling rule_on_entry(const judge::ExactElement& exact, const log::SparseEntry* entry) const;
  // Behind every chunk, for a party that has the tensors. REQUIRES chunks() > 1. Errors as partial().
  Expected<std::vector<judge::State>> states(const ValueOf& value_of) const;

 private:
  Element(const Subject& subject, ResolvedNode node, const std::vector<train::TraceEntry>& schema,
          const std::vector<commit::Digest>& roots, uint64_t entry)
      : subject_(subject), node_(std::move(node)), schema_(schema), roots_(roots), entry_(entry) {}
  Status prepare(int64_t element, const std::vector<ShownPart>& guides);
  Expected<ShownTensor> open_part(const ShownPart& part) const;
  std::vector<graph::ElementSource> once() const;
  std::vector<graph::ElementSource> of_chunk(int64_t chunk) const;
  ElementRuling compare(judge::Bits before_rounding, judge::Bits claimed) const;
  Expected<ElementRuling> rule_by_exact_value(const Values& values, const judge::State* last,
                                              judge::Bits claimed) const;
  runtime::ErrorBounds bounds() const { return subject_.rounding.bounds_of(node_.node().op, product_->terms()); }

  const Subject& subject_;
  const ResolvedNode node_;
  const std::vector<train::TraceEntry>& schema_;
  const std::vector<commit::Digest>& roots_;
  const uint64_t entry_;
  std::map<uint32_t, ShownTensor> guides_;     // by input
  std::vector<std::optional<Tensor>> wholes_;  // the same, where all of it is known
  std::optional<judge::Question> question_;
  std::optional<judge::LoggedProduct> product_;
  std::unique_ptr<judge::Reduction> reduction_;
  std::vector<graph::ElementSource> all_;  // with one chunk and no product
  int64_t chunks_ = 1;
};

}  // namespace isobit::dispute
