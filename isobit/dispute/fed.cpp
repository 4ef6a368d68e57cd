// What a step is fed: which samples its batch is of, and what they are as values. The order of samples and their
// augmentation are functions of the job; the samples themselves are shown.
#include <array>
#include <bit>
#include <cstring>
#include <functional>

#include "isobit/base/text.h"
#include "isobit/data/augment.h"
#include "isobit/data/order.h"
#include "isobit/data/shown_sample.h"
#include "isobit/dispute/claims.h"
#include "isobit/dispute/scoring.h"
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
using DrawOf = std::function<Expected<data::AugmentDraw>(const data::ShownSamples& samples)>;
Expected<Row> row_of(const verify::ShownSample& shown, const DrawOf& draw_of) {
  ISOBIT_TRY(const data::ShownSamples samples, data::ShownSamples::open(shown.trees.header, "dataset header"));
  if (samples.sample_size() != shown.sample.size()) return unreadable("the sample has another size than the dataset's");
  ISOBIT_TRY(const data::AugmentDraw draw, draw_of(samples));
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

// Of an entry that is a part of a batch of so many samples, the element that this row of it has.
Expected<judge::Bits> element_of(const Row& row, const std::vector<train::TraceEntry>& schema, uint64_t entry,
                                 int64_t element, int64_t batch) {
  const train::TraceEntry& e = schema[entry];
  const int64_t row_size = verify::shape_of(e).elements() / batch, place = element % row_size;
  size_t input = 0;  // the target comes after all inputs
  for (uint64_t i = 0; i < entry; ++i) input += schema[i].kind == train::TraceEntry::Kind::kBatch ? 1 : 0;
  const Bytes& bytes = input < row.inputs.size() ? row.inputs[input] : row.target;
  const size_t size = bytes.size() / static_cast<size_t>(row_size);
  if (size * static_cast<size_t>(row_size) != bytes.size() ||
      (size != size_of(e.dtype) && (size != sizeof(float) || e.dtype != DType::kFloat64))) {
    return unreadable("the sample has another shape than the step's input");
  }
  judge::Bits fed = 0;
  std::memcpy(&fed, bytes.data() + static_cast<size_t>(place) * size, size);
  if (size != size_of(e.dtype)) {  // a float32 in a step of float64
    float narrow = 0;
    std::memcpy(&narrow, &fed, sizeof narrow);
    fed = std::bit_cast<uint64_t>(static_cast<double>(narrow));
  }
  return fed;
}

}  // namespace

Expected<commit::Digest> batch_of(const BatchShowing& shown, const train::Job& job, const verify::JobRootParts& parts,
                                  uint64_t step) {
  std::vector<int64_t> indices;
  for (int64_t j = 0; j < job.batch; ++j) indices.push_back(sample_at(job, parts, step, j));
  return verify::batch_commitment(shown.leaves, parts.dataset, static_cast<int64_t>(step), indices);
}

int64_t position_in_batch(const train::TraceEntry& entry, int64_t element, const train::Job& job) {
  return element / (verify::shape_of(entry).elements() / job.batch);
}

Expected<judge::Bits> fed_element(const SampleShowing& shown, const std::vector<train::TraceEntry>& schema,
                                  uint64_t entry, int64_t element, const train::Job& job,
                                  const verify::JobRootParts& parts, uint64_t step) {
  const int64_t position = position_in_batch(schema[entry], element, job);
  const auto index = static_cast<uint64_t>(sample_at(job, parts, step, position));
  ISOBIT_RETURN_IF_ERROR(verify::verify_sample(shown.sample, index, parts.dataset));
  ISOBIT_TRY(const data::AugmentOptions augment, data::parse_augment(job.data.augment));
  ISOBIT_TRY(const Row row, row_of(shown.sample, [&](const data::ShownSamples& samples) {
               return samples.draw({job.seed, job.batch, augment}, static_cast<int64_t>(step) - 1, position);
             }));
  return element_of(row, schema, entry, element, job.batch);
}

Expected<judge::Bits> scored_element(const SampleShowing& shown, const Scoring& scoring, uint64_t entry,
                                     int64_t element, const verify::JobRootParts& parts) {
  const int64_t index = scoring.range.first + position_in_range(scoring.schema[entry], element, scoring);
  ISOBIT_RETURN_IF_ERROR(
      verify::verify_sample(shown.sample, static_cast<uint64_t>(index), parts.dataset, data::Split::kTest));
  ISOBIT_TRY(const Row row, row_of(shown.sample, [](const auto&) { return Expected<data::AugmentDraw>({}); }));
  return element_of(row, scoring.schema, entry, element, scoring.range.count);
}

}  // namespace isobit::dispute
