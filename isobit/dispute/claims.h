// What the claims of a trainer must be to hold together, whoever looks at them: leaves of its transcript, its lists of
// the steps between two states and of the values of one step, what the step was fed, and its loss.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isobit/dispute/bodies.h"
#include "isobit/dispute/subject.h"

namespace isobit::dispute {

// A state that a leaf commits to, and after which step.
struct CommittedState {
  uint64_t step = 0;
  commit::Digest root{};
};
// None of a leaf that commits to no state.
std::optional<CommittedState> state_of(const verify::Leaf& leaf);

// kRejected unless the parts are those of the engaged job root, with a schema, the head is the trainer's, and the
// leaves are neighbours among those with a state, shown in its tree.
Status check_challenge(const Challenge& challenge, const Subject& subject);
// Why the transcript begins with something else than the job; "" where it does not, or its beginning is not shown.
// REQUIRES a challenge that was checked.
std::string problem_of_beginning(const Challenge& challenge, const Subject& subject);

// kRejected unless the list is of the steps first + 1 .. last between the leaves of the challenge, shown in the
// trainer's transcript, and ends with the state behind. REQUIRES a challenge that was checked, and is of these steps.
Status check_step_list(const StepList& list, uint64_t first, uint64_t last, const Challenge& challenge,
                       const Subject& subject);

// Why the roots of all values are none of step `step` from one state root to the other; "" where they may be.
std::string problem_of_values(const std::vector<train::TraceEntry>& schema, const std::vector<commit::Digest>& roots,
                              uint64_t step, const commit::Digest& before, const commit::Digest& after);

// The root of an entry that is a rate, by the job's schedule.
commit::Digest rate_root(const std::vector<train::TraceEntry>& schema, uint64_t entry, const train::Job& job,
                         uint64_t step);

// The batch commitment of a step by the job, from leaves that are shown. kRejected where they are not the dataset's, or
// of other samples.
Expected<commit::Digest> batch_of(const BatchShowing& shown, const train::Job& job, const verify::JobRootParts& parts,
                                  uint64_t step);

// What element `element` of `entry`, a part of the step's batch, is by the sample that is shown. kRejected for another
// sample than the job's; kUnreadable for one of another shape.
Expected<judge::Bits> fed_element(const SampleShowing& shown, const std::vector<train::TraceEntry>& schema,
                                  uint64_t entry, int64_t element, const train::Job& job,
                                  const verify::JobRootParts& parts, uint64_t step);
// Which sample of the batch such an element is of.
int64_t position_in_batch(const train::TraceEntry& entry, int64_t element, const train::Job& job);

// The value among the step's that is its loss, as it is shown.
struct LossOfValues {
  uint64_t entry = 0;
  verify::LossBits loss;
};
// kRejected where the node shown does not make it, or the tile shown is not that of the value with this root.
Expected<LossOfValues> loss_of_values(const LossShowing& shown, const verify::JobRootParts& parts,
                                      const std::vector<train::TraceEntry>& schema,
                                      const std::vector<commit::Digest>& roots);

// For a party that has the graph: which node makes the loss, and its entry. kUnavailable where none does.
struct LossNode {
  uint64_t node = 0, entry = 0;
};
Expected<LossNode> loss_node(const verify::GraphTree& graph, const std::vector<train::TraceEntry>& schema);

// kRejected unless it is a tree of so many states, whose last one is shown in it.
Status check_state_tree(const StateTree& tree, uint64_t chunks);
// kRejected unless state `chunk` of the tree is this one.
Status check_state(const judge::State& state, uint64_t chunk, const commit::InclusionProof& inclusion,
                   const commit::SizedRoot& states);

}  // namespace isobit::dispute
