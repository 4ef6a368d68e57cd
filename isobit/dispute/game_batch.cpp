// What a step is fed: which samples its batch is of, and what they are as values. The order of samples and their
// augmentation are functions of the job; the samples themselves are shown.
#include <array>
#include <bit>
#include <cstring>

#include "isobit/base/text.h"
#include "isobit/data/augment.h"
#include "isobit/data/batch.h"
#include "isobit/data/order.h"
#include "isobit/data/shown_sample.h"
#include "isobit/dispute/game.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {
namespace {

int64_t sample_at(const train::Job& job, const verify::JobRootParts& parts, uint64_t step, int64_t position) {
  return data::sample_index(job.seed, job.batch, static_cast<int64_t>(parts.train_samples),
                            static_cast<int64_t>(step) - 1, position);
}

// Sizes come from a header that is nobody's word until its root was compared; by now it was.
struct Row {
  std::vector<Bytes> inputs;
  Bytes target;
};
Expected<Row> row_of(const train::Job& job, const verify::ShownSample& shown, uint64_t step, int64_t position) {
  ISOBIT_TRY(const data::ShownSamples samples, data::ShownSamples::open(shown.trees.header, "dataset header"));
  if (samples.sample_size() != shown.sample.size()) return unreadable("the sample has another size than the dataset's");
  ISOBIT_TRY(const data::AugmentOptions augment, data::parse_augment(job.data.augment));
  ISOBIT_TRY(const data::AugmentDraw draw,
             samples.draw({job.seed, job.batch, augment}, static_cast<int64_t>(step) - 1, position));
  Row row;
  std::array<void*, data::kMaxInputs> to{};
  for (const data::SampleInput& input : samples.inputs()) {
    row.inputs.emplace_back(static_cast<size_t>(Shape(input.shape).elements()) * size_of(input.dtype));
  }
  for (size_t i = 0; i < row.inputs.size(); ++i) to[i] = row.inputs[i].data();
  const data::Target& target = samples.target();
  if (target.kind != data::TargetKind::kNone) {
    row.target.resize(static_cast<size_t>(Shape(target.shape).elements()) * size_of(target.dtype));
  }
  ISOBIT_RETURN_IF_ERROR(
      samples.fill(shown.sample, draw, std::span<void* const>(to.data(), row.inputs.size()), row.target.data()));
  return row;
}

}  // namespace

Status Game::take_body(Party, BatchShowing body) {
  std::vector<int64_t> indices;
  for (int64_t j = 0; j < subject_.job.batch; ++j) {
    indices.push_back(sample_at(subject_.job, challenge_.parts, question_.step, j));
  }
  ISOBIT_TRY(batch_, verify::batch_commitment(body.leaves, challenge_.parts.dataset,
                                              static_cast<int64_t>(question_.step), indices));
  return {};
}

void Game::settle_batch() {
  const uint64_t at = question_.step - question_.first_step - 1;
  const bool a = trainer().points[at].batch != batch_, b = challenger().points[at].batch != batch_;
  conclude(
      a, b, Level::kStep,
      text_of("the ", a ? "trainer" : "challenger", "'s batch of the step is of other samples ", "than the job draws"));
}

Status Game::take_body(Party, SampleShowing body) {
  const train::TraceEntry& e = entry();
  const int64_t row_size = verify::shape_of(e).elements() / subject_.job.batch;
  const int64_t position = question_.element / row_size, place = question_.element % row_size;
  const auto index = static_cast<uint64_t>(sample_at(subject_.job, challenge_.parts, question_.step, position));
  ISOBIT_RETURN_IF_ERROR(verify::verify_sample(body.sample, index, challenge_.parts.dataset));
  ISOBIT_TRY(const Row row, row_of(subject_.job, body.sample, question_.step, position));
  size_t input = 0;  // the target comes after all inputs
  for (uint64_t i = 0; i < question_.entry; ++i) input += schema_[i].kind == train::TraceEntry::Kind::kBatch ? 1 : 0;
  const Bytes& bytes = input < row.inputs.size() ? row.inputs[input] : row.target;
  const size_t size = bytes.size() / static_cast<size_t>(row_size);
  if (size * static_cast<size_t>(row_size) != bytes.size() || (size != size_of(e.dtype) && size != 4)) {
    return unreadable("the sample has another shape than the step's input");
  }
  fed_ = 0;
  std::memcpy(&fed_, bytes.data() + static_cast<size_t>(place) * size, size);
  if (size != size_of(e.dtype)) {  // a float32 in a step of float64
    float narrow = 0;
    std::memcpy(&narrow, &fed_, sizeof narrow);
    fed_ = std::bit_cast<uint64_t>(static_cast<double>(narrow));
  }
  return {};
}

void Game::settle_sample() {
  const bool a = trainer().claim != fed_, b = challenger().claim != fed_;
  conclude(a, b, Level::kElement,
           text_of("the ", a ? "trainer" : "challenger", " feeds its step something else than ", "the job's sample"));
  verdict_->element->right = fed_;
}

}  // namespace isobit::dispute
