// The values of one training step as a tree over its trace schema, whose every value, and every tile of one, can be
// shown alone: what two who disagree about a step go through value by value. Byte layout: docs/formats/step-trace.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/merkle.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/schema.h"

namespace isobit::verify {

// Of which step of which job a trace is. Nothing is signed or compared but digest().
struct TraceRoot {
  commit::Digest job_root{};
  uint64_t step = 0;  // 1 for the first
  commit::SizedRoot values;
  commit::Digest digest() const;
  bool operator==(const TraceRoot&) const = default;
};

// The leaf of value `index`, whose tensor has this root.
commit::Digest trace_leaf(uint64_t index, const commit::Digest& tensor_root);

// Who stands by a list, for which run.
struct TraceSignature {
  commit::RunId run_id{};
  commit::PublicKey key;
  commit::Signature signature;
  bool operator==(const TraceSignature&) const = default;
};

// The roots of all values of a step, as a party hands them to another.
struct TraceList {
  commit::Digest job_root{};
  uint64_t step = 0;
  std::vector<commit::Digest> tensor_roots;  // in the order of the schema
  std::optional<TraceSignature> signed_by = std::nullopt;
  bool operator==(const TraceList&) const = default;

  TraceRoot root() const;
  // The first value that is another one in `other`, a list of the same job and step (REQUIRES) and of as many values;
  // the number of those in the shorter one where one continues the other; none where they are equal.
  std::optional<uint64_t> first_difference(const TraceList& other) const;
  // In place of any other signature. It covers the trace root, and so every value.
  void sign(const commit::RunId& run_id, const commit::SecretKey& key);
};

// kRejected unless it is signed for the engaged run, by an engaged key, and the signature is valid.
Status verify_trace_list(const TraceList& list, const Engagement& engagement);

inline constexpr std::string_view kTraceListTag = "isobit.trace-list";
inline constexpr uint64_t kMaxTraceListBytes = 64 << 20;
Bytes encode(const TraceList& list);
// Accepts exactly what encode() writes of at most kMaxTraceListBytes; kUnreadable otherwise.
Expected<TraceList> decode_trace_list(ByteView data, const std::string& what);

// All of one step, as whoever computed it has it. Shows values; holds their roots and no tensor.
class StepTrace {
 public:
  // REQUIRES one root for each entry, of a tensor of the entry's name, type, dimensions and split.
  StepTrace(const commit::Digest& job_root, uint64_t step, std::vector<train::TraceEntry> schema,
            std::vector<commit::TensorRoot> roots);

  TraceRoot root() const;
  TraceList list() const;
  const std::vector<train::TraceEntry>& schema() const { return schema_; }
  const std::vector<commit::TensorRoot>& roots() const { return roots_; }

 private:
  friend struct ValueOpening;
  commit::Digest job_root_{};
  uint64_t step_ = 0;
  std::vector<train::TraceEntry> schema_;
  std::vector<commit::TensorRoot> roots_;
  std::vector<commit::Digest> schema_leaves_, leaves_;
};

// A tile of a value: its bytes as commit::tile_bytes has them, and the path to the tensor's root.
struct OpenedTile {
  Bytes bytes;
  commit::InclusionProof inclusion;
  bool operator==(const OpenedTile&) const = default;
};

// One value of a trace shown: what it is by the schema, its root in the trace, and tiles of it.
struct ValueOpening {
  commit::Digest job_root{};
  uint64_t step = 0;
  train::TraceEntry entry;
  commit::InclusionProof in_schema, in_trace;  // of entry and value; their index is the entry's
  commit::SizedRoot tiles;
  std::vector<OpenedTile> opened;
  bool operator==(const ValueOpening&) const = default;

  // Without tiles. REQUIRES index < trace.schema().size().
  static ValueOpening of(const StepTrace& trace, uint64_t index);

  uint64_t index() const { return in_trace.index; }
  commit::TensorRoot tensor_root() const;
  // What the opening shows to be so, if the roots that it leads to are those that were committed.
  struct Roots {
    commit::Digest schema, trace;
  };
  // kRejected, with what is wrong, where the parts do not fit together: a proof that is none, a tile that is not of the
  // value.
  Expected<Roots> roots() const;
};

// The bytes of a tile's elements, row by row, without its head. REQUIRES an opening whose roots() are no error.
ByteView elements_of(const OpenedTile& tile);

inline constexpr std::string_view kValueOpeningTag = "isobit.value-opening";
inline constexpr uint64_t kMaxOpeningBytes = 1 << 20;
Bytes encode(const ValueOpening& opening);
// Accepts exactly what encode() writes of at most kMaxOpeningBytes; kUnreadable otherwise. The proofs are not looked
// at.
Expected<ValueOpening> decode_value_opening(ByteView data, const std::string& what);

}  // namespace isobit::verify
