#include "isobit/adversary/simulator/lie_for_test.h"

#include <algorithm>
#include <cmath>

#include "isobit/dispute/shown_tensor.h"
#include "isobit/graph/op.h"

namespace isobit::adversary::simulator {
namespace {

using Entry = train::TraceEntry;
using Kind = Entry::Kind;

constexpr std::array<const char*, 15> kLieNames = {"honest", "false-alarm", "state", "values", "fed",
                                                   "rate",   "sum",         "tree",  "tile",   "list",
                                                   "loss",   "batch",       "log",   "scores", "inference"};

bool is_of_evaluation(LieKind kind) { return kind == LieKind::kScores || kind == LieKind::kInference; }

class Liar {
 public:
  Liar(Lie& lie, Material& material, Random& random)
      : lie_(lie), material_(material), random_(random), schema_(material.honest().schema()) {}

  std::vector<uint64_t> entries(auto&& wanted) const {
    std::vector<uint64_t> found;
    for (uint64_t i = 0; i < schema_.size(); ++i) {
      if (wanted(schema_[i]) && Shape(schema_[i].dims).elements() > 0) found.push_back(i);
    }
    return found;
  }
  uint64_t any_of(const std::vector<uint64_t>& entries) { return entries.at(random_.below(entries.size())); }
  bool replaces_state(const Entry& e) const {
    return e.kind == Kind::kOutput &&
           std::ranges::any_of(schema_, [&](const Entry& s) { return s.kind == Kind::kState && s.name == e.name; });
  }
  std::string op_of(const Entry& e) const {
    if (e.node < 0) return "";
    return material_.honest().graph().nodes()[static_cast<size_t>(e.node)].op;
  }

  // Some element of it, or this one: another value.
  void change(uint64_t entry, std::optional<int64_t> where = std::nullopt) {
    if (!lie_.values.contains(entry)) {
      lie_.values.emplace(entry, material_.honest().values(lie_.step, {entry}).value().at(entry).clone());
    }
    Tensor& tensor = lie_.values.at(entry);
    change(tensor, where);
    const auto identity = dispute::TensorIdentity::of(schema_[entry]);
    lie_.roots[entry] = commit::tensor_root(identity.name, tensor, identity.layout(), material_.pool());
  }
  void change(Tensor& tensor, std::optional<int64_t> where) {
    const auto element = where ? *where : static_cast<int64_t>(random_.below(static_cast<uint64_t>(tensor.elements())));
    const bool is_special = random_.below(4) == 0;
    if (is_special && tensor.dtype() == DType::kFloat32) {
      make_special<uint32_t>(tensor, element);
    } else if (is_special && tensor.dtype() == DType::kFloat64) {
      make_special<uint64_t>(tensor, element);
    } else if (material_.logged() && tensor.dtype() == DType::kFloat32) {
      far_off(tensor.data<float>()[element]);
    } else if (material_.logged() && tensor.dtype() == DType::kFloat64) {
      far_off(tensor.data<double>()[element]);
    } else {
      const size_t size = size_of(tensor.dtype());
      const uint64_t bit = tensor.dtype() == DType::kBool ? 0 : random_.below(size * 8);
      static_cast<uint8_t*>(tensor.raw())[static_cast<size_t>(element) * size + bit / 8] ^=
          static_cast<uint8_t>(1 << bit % 8);
    }
  }

  // An element of a value of the sample's inference, any one where it is not said which.
  void change_scored(uint64_t entry, std::optional<int64_t> where) {
    dispute::Witness& at = *material_.honest().scored(lie_.sample).value();
    Tensor tensor = at.values(0, {entry}).value().at(entry).clone();
    change(tensor, where);
    const auto identity = dispute::TensorIdentity::of(at.schema()[entry]);
    lie_.scored_roots[entry] = commit::tensor_root(identity.name, tensor, identity.layout(), material_.pool());
    lie_.scored_values.insert_or_assign(entry, std::move(tensor));
  }
  // ... elements of so many values at most.
  void change_inference(uint64_t values) {
    const auto& schema = material_.honest().scored(lie_.sample).value()->schema();
    for (uint64_t n = 0; n < values; ++n) {
      const uint64_t entry = random_.below(schema.size());
      if (Shape(schema[entry].dims).elements() > 0) change_scored(entry, std::nullopt);
    }
  }

  train::SampleScores honest_scores() {
    const verify::EvaluationTree& tree = *material_.honest().evaluation().value();
    train::SampleScores scores;
    for (const train::Metric& m : tree.evaluation().metrics) scores.metrics.push_back(m.name);
    for (uint64_t i = 0; i < tree.samples(); ++i) {
      const auto& sums = tree.node(i, 1).sums;
      scores.sums.insert(scores.sums.end(), sums.begin(), sums.end());
    }
    return scores;
  }
  // A hit is none, or the other way round; of a loss another one.
  void change_score(train::SampleScores& scores, uint64_t sample, size_t metric) {
    train::MetricSum& sum = scores.sums[sample * scores.metrics.size() + metric];
    sum.sum = numerics::ExactTotal::of(sum.sum == numerics::ExactTotal::of(1) ? 0 : 1);
  }
  void claim(const train::SampleScores& scores) {
    lie_.tree.emplace(scores);
    lie_.evaluation = lie_.tree->evaluation();
  }

  void change_scores() {
    train::SampleScores scores = honest_scores();
    const size_t metrics = scores.metrics.size();
    lie_.sample = random_.below(scores.samples());
    change_score(scores, lie_.sample, random_.below(metrics));
    if (lie_.kind == LieKind::kInference) {
      change_inference(1 + random_.below(3));
      return claim(scores);
    }
    switch (random_.below(4)) {
      case 0:
        break;
      case 1:
        for (uint64_t i = lie_.sample; i < scores.samples(); i += 3) change_score(scores, i, random_.below(metrics));
        break;
      case 2:
        ++scores.sums[lie_.sample * metrics + random_.below(metrics)].count;
        break;
      case 3: {  // no tree has such totals
        lie_.evaluation = material_.honest().evaluation().value()->evaluation();
        train::MetricSum& total = lie_.evaluation->metrics[random_.below(metrics)].total;
        total.sum =
            total.sum == numerics::ExactTotal::of(0) ? numerics::ExactTotal::of(1) : numerics::ExactTotal::of(0);
        return;
      }
    }
    claim(scores);
  }

  void change_state() {
    change(any_of(entries([&](const Entry& e) { return replaces_state(e); })));
  }

  // Of the step's log as a trainer has it: with an entry that says another value of some element of a product. As a
  // challenger has it: with an entry that is said not to stand, where there is one.
  void change_log() {
    log::SparseLog log;
    const verify::LogTree honest = material_.honest().log(lie_.step).value();
    for (const verify::LogChunk& chunk : honest.chunks()) {
      log.nodes.push_back({chunk.node, std::get<std::vector<log::SparseEntry>>(chunk.log)});
    }
    if (!log.nodes.empty()) lie_.accused = runtime::EntryPlace{log.nodes[0].node, log.nodes[0].entries[0].position};
    const uint64_t entry = any_of(entries([this](const Entry& e) {
      return e.kind == Kind::kOutput && e.place == 0 && graph::find_op(op_of(e))->is_inner_product();
    }));
    const auto node = static_cast<uint32_t>(schema_[entry].node);
    const uint64_t position = random_.below(static_cast<uint64_t>(Shape(schema_[entry].dims).elements()));
    const auto at = std::ranges::lower_bound(log.nodes, node, {}, &log::SparseNode::node);
    const auto of_node = at != log.nodes.end() && at->node == node ? at : log.nodes.insert(at, {node, {}});
    auto& all = of_node->entries;
    const auto place = std::ranges::lower_bound(all, position, {}, &log::SparseEntry::position);
    const log::SparseEntry said{position, log::SparseEntry::Kind::kValue, 1e9F};
    place != all.end() && place->position == position ? void(*place = said) : void(all.insert(place, said));
    lie_.log.emplace(log::Segment{lie_.step, log});
    lie_.forged_entry = runtime::EntryPlace{node, position};
  }

  // The state that the list leads to.
  commit::Digest state_after() {
    const auto roots = LyingWitness(material_.honest(), lie_, lie_).roots(lie_.step).value();
    std::vector<commit::StateEntry> state;
    for (size_t i = 0; i < schema_.size() && schema_[i].kind == Kind::kState; ++i) {
      size_t from = i;
      for (size_t j = 0; j < schema_.size(); ++j) {
        if (schema_[j].kind == Kind::kOutput && schema_[j].name == schema_[i].name) from = j;
      }
      state.push_back({schema_[i].name, roots[from].digest()});
    }
    return commit::state_root(state, lie_.step).value().digest();
  }

  void claim_points() {
    const uint64_t steps = material_.subject().rules.steps;
    const auto honest = material_.honest().points(0, steps).value();
    dispute::StepPoint point = honest[lie_.step - 1];
    if (lie_.kind == LieKind::kLoss) point.loss.bits ^= uint64_t{1} << random_.below(23);
    if (lie_.kind == LieKind::kBatch) point.batch = random_.digest();
    lie_.points[lie_.step] = point;
    if (lie_.kind == LieKind::kLog) lie_.points[lie_.step].log_segment = lie_.log->root();
    if (lie_.kind == LieKind::kLoss || lie_.kind == LieKind::kBatch || lie_.kind == LieKind::kLog) return;
    lie_.points[lie_.step].state_root =
        lie_.kind == LieKind::kList && lie_.values.empty() ? random_.digest() : state_after();
    for (uint64_t t = lie_.step + 1; t <= steps; ++t) {
      lie_.points[t] = honest[t - 1];
      lie_.points[t].state_root = random_.digest();
    }
  }

  void tell() {
    const auto of = [this](Kind kind) { return entries([=](const Entry& e) { return e.kind == kind; }); };
    switch (lie_.kind) {
      case LieKind::kNone:
      case LieKind::kFalseAlarm:
        return;
      case LieKind::kState:
        change_state();
        break;
      case LieKind::kValues:
        change_state();
        for (uint64_t n = 1 + random_.below(4); n > 0; --n) {
          change(any_of(entries([](const Entry& e) { return e.kind != Kind::kState; })));
        }
        break;
      case LieKind::kFed:
        change_state();
        change(any_of(of(Kind::kBatch)));
        break;
      case LieKind::kRate:
        change_state();
        change(any_of(of(Kind::kRate)));
        break;
      case LieKind::kSum: {
        change_state();
        change(any_of(entries(
            [this](const Entry& e) { return e.kind == Kind::kOutput && op_of(e) == "isobit.ConvGradWeights"; })));
        const uint64_t from = random_.next(), word = random_.next(), bit = random_.below(16);
        const bool is_short = random_.below(4) == 0;  // a state of fewer words than any has
        lie_.forge = [=](std::vector<judge::State>& states) {
          if (is_short) return states[from % states.size()].resize(1);
          for (size_t c = from % states.size(); c < states.size(); ++c) {
            states[c][word % states[c].size()] ^= uint64_t{1} << bit;
          }
        };
        break;
      }
      case LieKind::kTree: {
        change_state();
        const uint64_t entry = any_of(entries([](const Entry& e) { return e.kind == Kind::kOutput; }));
        lie_.roots[entry] = material_.honest().roots(lie_.step).value()[entry];
        lie_.roots[entry].tiles = {lie_.roots[entry].tiles.size + 1 + random_.below(3), random_.digest()};
        break;
      }
      case LieKind::kTile: {
        change_state();
        const uint64_t entry = any_of(entries([](const Entry& e) { return e.kind == Kind::kOutput; }));
        lie_.values.erase(entry);
        lie_.roots[entry] = material_.honest().roots(lie_.step).value()[entry];
        lie_.no_tile[entry] = random_.below(lie_.roots[entry].tiles.size);
        lie_.roots[entry].tiles.root = commit::merkle_root(leaves_with_no_tile(material_, lie_, entry));
        break;
      }
      case LieKind::kList:
        if (const uint64_t way = random_.below(3); way == 0) {
          change_state();
          change(any_of(of(Kind::kState)));
        } else {
          lie_.drops_value = way == 1;
        }
        break;
      case LieKind::kLog:
        change_log();
        break;
      case LieKind::kLoss:
      case LieKind::kBatch:
        break;
      case LieKind::kScores:
      case LieKind::kInference:
        return change_scores();
    }
    claim_points();
  }

 private:
  // Another sign, which is all that differs of a zero; not a number; infinite. An exact zero of logged arithmetic may
  // have either sign.
  template <class Word>
  void make_special(Tensor& tensor, int64_t element) {
    auto* word = static_cast<Word*>(tensor.raw()) + element;
    const Word sign = Word{1} << (8 * sizeof(Word) - 1);
    const Word infinite = sizeof(Word) == 4 ? static_cast<Word>(0x7f800000U) : static_cast<Word>(0x7ff0000000000000U);
    const Word before = *word;
    switch (random_.below(3)) {
      case 0:
        *word = (before & ~sign) == 0 && material_.logged() ? infinite : before ^ sign;
        break;
      case 1:
        *word = infinite | 1 | (before & sign);
        break;
      case 2:
        *word = infinite | (before & sign);
    }
  }

  template <class Float>
  static void far_off(Float& x) {
    x = x + 1 + std::abs(x);
  }

  Lie& lie_;
  Material& material_;
  Random& random_;
  const std::vector<Entry>& schema_;
};

}  // namespace

const char* name_of(LieKind kind) { return kLieNames[static_cast<size_t>(kind)]; }

std::optional<LieKind> lie_kind(std::string_view name) {
  const auto found = std::ranges::find(kLieNames, name);
  if (found == kLieNames.end()) return std::nullopt;
  return static_cast<LieKind>(found - kLieNames.begin());
}

std::vector<commit::Digest> leaves_with_no_tile(Material& material, const Lie& lie, uint64_t entry) {
  const auto identity = dispute::TensorIdentity::of(material.honest().schema()[entry]);
  const Tensor value = material.honest().values(lie.step, {entry}).value().at(entry);
  auto leaves = commit::tile_hashes(identity.header(), value, identity.layout(), material.pool());
  leaves[lie.no_tile.at(entry)] = commit::leaf_hash(as_bytes(kNoTile));
  return leaves;
}

Lie make_lie(LieKind kind, Material& material, Random& random) {
  Lie lie;
  lie.kind = kind;
  if (!is_of_evaluation(kind)) lie.step = 1 + random.below(material.subject().rules.steps);
  Liar(lie, material, random).tell();
  return lie;
}

Lie lie_about(Material& material, uint64_t step, uint64_t entry, int64_t element) {
  Lie lie;
  lie.kind = LieKind::kSum;
  lie.step = step;
  Random random(1);
  Liar liar(lie, material, random);
  liar.change_state();
  liar.change(entry, element);
  liar.claim_points();
  lie.forge = [](std::vector<judge::State>& states) { states.back()[0] ^= 1; };
  return lie;
}

Lie lie_about_sample(Material& material, uint64_t sample, size_t metric,
                     std::optional<std::pair<uint64_t, int64_t>> element) {
  Lie lie;
  lie.kind = LieKind::kInference;
  lie.sample = sample;
  Random random(1);
  Liar liar(lie, material, random);
  train::SampleScores scores = liar.honest_scores();
  liar.change_score(scores, sample, metric);
  if (element) liar.change_scored(element->first, element->second);
  liar.claim(scores);
  return lie;
}

Doubt doubt_of(const Material& material, const Lie& trainer, const Lie& challenger) {
  const verify::TranscriptRules& rules = material.transcript().rules();
  const uint64_t every = rules.commit_every, whole = material.transcript().size();
  uint64_t step = material.differs_at().value_or(rules.steps);
  for (const Lie* lie : {&trainer, &challenger}) {
    if (lie->is_of_steps()) step = std::min(step, lie->step);
  }
  const bool in_steps = material.differs_at() || trainer.is_of_steps() || challenger.is_of_steps();
  if (!in_steps && (trainer.evaluation || challenger.evaluation)) return {rules.steps, whole, true};
  const uint64_t last = std::min((step + every - 1) / every * every, rules.steps);
  return {last, rules.has_state(last) ? last + 1 : whole, false};
}

dispute::Challenge challenge_to(Material& material, const verify::Transcript& claimed, const Doubt& doubt,
                                const Lie& challenger, uint64_t leaves) {
  const verify::SignedHead head =
      verify::sign_head(claimed.sized_root(leaves), material.terms(), run::testing::key(kTrainerSeed));
  if (!doubt.of_evaluation) return dispute::make_challenge(material.parts(), claimed, head, doubt.last).value();
  dispute::Witness& honest = material.honest(dispute::Party::kChallenger);
  return dispute::make_challenge(
             material.parts(), claimed, head,
             dispute::EvaluationClaim{challenger.evaluation.value_or(honest.evaluation().value()->evaluation()),
                                      honest.scored_graphs().value()})
      .value();
}

verify::Transcript claimed_transcript(const Material& material, const Lie& lie) {
  const verify::Transcript& honest = material.transcript();
  verify::Transcript claimed(honest.rules());
  for (uint64_t i = 0; i < honest.size(); ++i) {
    verify::Leaf leaf = honest.leaf(i);
    if (auto* step = std::get_if<verify::StepLeaf>(&leaf); step != nullptr && lie.points.contains(step->step)) {
      const dispute::StepPoint& point = lie.points.at(step->step);
      step->batch = point.batch;
      step->loss = point.loss;
      step->log_segment = point.log_segment;
      if (step->state_root) step->state_root = point.state_root;
    }
    if (auto* last = std::get_if<verify::FinalLeaf>(&leaf); last != nullptr) {
      if (lie.points.contains(last->steps)) last->state_root = lie.points.at(last->steps).state_root;
      if (lie.evaluation) last->evaluation = *lie.evaluation;
    }
    ISOBIT_CHECK(claimed.append(leaf).has_value());
  }
  return claimed;
}

}  // namespace isobit::adversary::simulator
