#include "isobit/train/job.h"

#include <algorithm>

#include "isobit/base/fields.h"
#include "isobit/numerics/functions.h"
#include "isobit/train/job_fields.h"

namespace isobit::train {

namespace {

// Adds one field.
struct Add {
  const Field& field;
  FieldWriter& writer;

  void operator()(const int64_t* v) const { writer.i64(field.name, *v); }
  void operator()(const uint64_t* v) const { writer.u64(field.name, *v); }
  void operator()(const double* v) const { writer.f64(field.name, *v); }
  void operator()(const bool* v) const { writer.boolean(field.name, *v); }
  void operator()(const std::string* v) const { writer.text(field.name, *v); }
  void operator()(const std::vector<std::string>* v) const {
    std::vector<std::string> list = *v;
    if (field.rules.unordered) std::ranges::sort(list);
    writer.texts(field.name, list);
  }
  void operator()(const Numbers* v) const { writer.numbers(field.name, *v); }
  void operator()(const data::InputFiles*) const { ISOBIT_CHECK(!"files are named by no committed field"); }
  void operator()(const Choice& v) const { writer.text(field.name, field.rules.names()[v.get()]); }
};

}  // namespace

const platform::Arithmetic& arithmetic_of(const Job& job) { return platform::arithmetic_of(job.arithmetic); }

Bytes canonical_job_bytes(const Job& job) {
  Job committed = job;
  FieldWriter fields;
  for (const Field& field : job_fields()) {
    if (field.committed_in(job)) std::visit(Add{field, fields}, field.in(committed));
  }
  ByteWriter w;
  w.text(kJobTag);
  w.u32(kJobVersion);
  w.fixed(fields.bytes());
  return w.take();
}

double learning_rate(const Job& job, int64_t t) {
  if (t < job.warmup) return job.lr * static_cast<double>(t + 1) / static_cast<double>(job.warmup);
  const int64_t after = t - job.warmup;
  switch (job.schedule) {
    case Schedule::kConstant:
      return job.lr;
    case Schedule::kStep: {
      double lr = job.lr;
      for (int64_t drops = after / job.decay_every; drops > 0 && lr > 0 && job.decay_factor < 1; --drops)
        lr *= job.decay_factor;
      return lr;
    }
    case Schedule::kCosine: {
      const double progress = static_cast<double>(after) / static_cast<double>(job.steps - job.warmup);
      constexpr float kPi = 0x1.921fb6p+1f;
      const float c = numerics::cr_cos(kPi * static_cast<float>(progress));
      return job.min_lr + 0.5 * (job.lr - job.min_lr) * (1.0 + static_cast<double>(c));
    }
  }
  return job.lr;
}

}  // namespace isobit::train
