// What a training run claims, step by step, as the leaves of one append-only tree. A pure function of the job and its
// results: no time, key or platform is in it. Byte layout: docs/formats/transcript.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/merkle.h"
#include "isobit/tensor/tensor.h"
#include "isobit/verify/evaluation.h"

namespace isobit::verify {

// Bounds every size of a transcript before anything is allocated.
inline constexpr uint64_t kMaxSteps = uint64_t{1} << 22;
inline constexpr size_t kMaxLeafBytes = 1024;

// What the job says about the shape of its transcript.
struct TranscriptRules {
  uint64_t steps = 0;                  // at most kMaxSteps
  uint64_t commit_every = 1;           // at least 1; step t carries a state root iff t % commit_every == 0
  DType loss_dtype = DType::kFloat32;  // or kFloat64
  bool logged = false;                 // whether every step has a log segment
  bool operator==(const TranscriptRules&) const = default;

  // kUnreadable with the field that is out of range.
  Status check(std::string_view what) const;
  bool has_state(uint64_t step) const { return step % commit_every == 0; }
  // The last step in [0, step] whose state is committed: 0 is the initial state.
  uint64_t committed_step_at_or_before(uint64_t step) const { return step - step % commit_every; }
  uint64_t leaves() const { return steps + 2; }
};

// A loss by its bits: of a float32 in the low half, the high half zero.
struct LossBits {
  DType dtype = DType::kFloat32;
  uint64_t bits = 0;
  static LossBits of(float value);
  static LossBits of(double value);
  double value() const;  // for people
  bool operator==(const LossBits&) const = default;
};

// State roots are commit::StateRoot::digest().
struct InitialLeaf {
  commit::Digest job_root{};
  commit::Digest state_root{};
  bool operator==(const InitialLeaf&) const = default;
};

struct StepLeaf {
  uint64_t step = 0;  // 1 .. steps
  commit::Digest batch{};
  LossBits loss;
  std::optional<commit::Digest> log_segment;  // present iff the job is logged
  std::optional<commit::Digest> state_root;   // after the step; present iff rules.has_state(step)
  bool operator==(const StepLeaf&) const = default;
};

struct FinalLeaf {
  uint64_t steps = 0;
  commit::Digest state_root{};
  Evaluation evaluation;
  bool operator==(const FinalLeaf&) const = default;
};

using Leaf = std::variant<InitialLeaf, StepLeaf, FinalLeaf>;

Bytes encode(const Leaf& leaf);
// Accepts exactly what encode() writes for a leaf that fits the rules (dtype, log, state root).
Expected<Leaf> decode_leaf(ByteView data, const TranscriptRules& rules, const std::string& what);
std::string describe(const Leaf& leaf);  // "step 12", "the initial leaf"

// Leaves in their one order: initial, steps 1 .. n, final. Not thread-safe.
// Of a transcript whose tree this is: what is printed and compared; binds type, version, number of leaves and root.
commit::Digest transcript_root(const commit::SizedRoot& tree);

class Transcript {
 public:
  // REQUIRES rules.check().
  explicit Transcript(TranscriptRules rules);

  // kRejected when the leaf is not the one whose turn it is or does not fit the rules.
  Status append(const Leaf& leaf);
  // The check that append makes, without appending.
  Status fits(const Leaf& leaf, uint64_t index) const;

  const TranscriptRules& rules() const { return rules_; }
  uint64_t size() const { return leaves_.size(); }
  bool complete() const { return size() == rules_.leaves(); }
  // Steps of which there are leaves.
  uint64_t steps() const;
  const Leaf& leaf(uint64_t index) const { return leaves_[index]; }  // REQUIRES index < size()
  std::span<const commit::Digest> leaf_hashes() const { return hashes_; }

  // REQUIRES size() > 0, 1 <= step <= steps(), complete().
  const InitialLeaf& initial() const { return std::get<InitialLeaf>(leaves_.front()); }
  const StepLeaf& step(uint64_t step) const { return std::get<StepLeaf>(leaves_[step]); }
  const FinalLeaf& final() const { return std::get<FinalLeaf>(leaves_.back()); }

  // The state root claimed after `step` (0: the initial one): from its leaf, else, for the last step, from the final
  // leaf; none where the job commits none.
  std::optional<commit::Digest> committed_state(uint64_t step) const;

  commit::SizedRoot sized_root() const { return tree_.sized_root(); }
  // Of the first `size` leaves. REQUIRES size <= size(). O(size).
  commit::SizedRoot sized_root(uint64_t size) const;
  commit::Digest transcript_root() const;

 private:
  TranscriptRules rules_;
  std::vector<Leaf> leaves_;
  std::vector<commit::Digest> hashes_;
  commit::MerkleTree tree_;
};

}  // namespace isobit::verify
