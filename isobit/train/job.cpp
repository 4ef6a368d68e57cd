#include "isobit/train/job.h"

#include <algorithm>

#include "isobit/base/fields.h"
#include "isobit/base/text.h"
#include "isobit/data/order.h"
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
  // A field for each value of a group, with its number in the name.
  void operator()(const ParameterGroups* v) const {
    for (size_t i = 0; i < v->size(); ++i) {
      const ParameterGroup& group = (*v)[i];
      const std::string name = text_of(field.name, ".", i, ".");
      writer.text(name + "match", group.match);
      writer.f64(name + "lr_factor", group.lr_factor);
      if (group.weight_decay) writer.f64(name + "weight_decay", *group.weight_decay);
    }
  }
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

Expected<Job> in_steps(Job job, int64_t train_count) {
  if (job.epochs == 0) return job;
  if (train_count < 1) return unreadable("job.epochs: there are no training samples that a pass could be counted in");
  const Field &steps = *find_job_field("job", "steps"), &warmup = *find_job_field("schedule", "warmup");
  const int64_t most = steps.rules.whole.most, epochs = job.epochs;
  // An epoch has at least count / batch steps; what is beyond the limit need not be countable.
  const bool countable = train_count / job.batch <= most;
  job.steps = countable ? data::steps_of_epochs(epochs, job.batch, train_count) : most + 1;
  if (job.steps > most) {
    return unreadable(text_of("job.epochs: ", epochs, " of ", train_count, " samples in batches of ", job.batch,
                              " are more than the ", most, " steps that a job may have"));
  }
  job.epochs = 0;
  const std::string problem = warmup.rules.problem(job);
  if (!problem.empty()) return unreadable(text_of(warmup.name, ": ", problem, ", which the epochs come to"));
  return job;
}

Status check_in_steps(const Job& job, const std::string& source) {
  if (job.epochs == 0) return {};
  return unreadable(
      text_of(source, ": job.epochs: found ", job.epochs, ", expected job.steps: a run's job has its length in steps"));
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
    case Schedule::kLinear: {
      const int64_t last = job.steps - 1 - job.warmup;
      const double progress = last == 0 ? 0.0 : static_cast<double>(after) / static_cast<double>(last);
      return (1.0 - progress) * job.lr + progress * job.min_lr;
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
