#include "isobit/train/job.h"

#include "isobit/base/fields.h"
#include "isobit/numerics/functions.h"
#include "isobit/train/job_names_internal.h"

namespace isobit::train {

namespace {

void add_model(FieldWriter& w, const models::ModelConfig& model) {
  w.text("model.builder", model.builder);
  if (model.builder == "resnet") {
    w.i64("model.blocks", model.blocks);
    w.i64("model.width", model.width);
    // Jobs without the field, which it is younger than, mean the other one.
    if (model.running_variance == models::RunningVariance::kUnbiased) w.text("model.running_variance", "unbiased");
  }
  if (model.builder == "gpt") {
    w.i64("model.layers", model.layers);
    w.i64("model.heads", model.heads);
    w.i64("model.channels", model.channels);
    w.f64("model.dropout", model.dropout);
  }
}

void add_data(FieldWriter& w, const Job& job) {
  w.text("data.dataset", job.data.dataset);
  w.i64("data.batch", job.batch);
  if (job.data.dataset == "text") {
    w.i64("data.context", job.data.context);
  } else {
    w.texts("data.augment", in_order(job.data.augment));
  }
}

void add_optimizer(FieldWriter& w, const Job& job) {
  w.text("optimizer.name", kOptimizers[static_cast<size_t>(job.optimizer)]);
  w.f64("optimizer.lr", job.lr);
  w.f64("optimizer.weight_decay", job.weight_decay);
  w.f64("optimizer.clip_norm", job.clip_norm);
  if (job.optimizer == Optimizer::kSgd) {
    w.f64("optimizer.momentum", job.momentum);
    w.boolean("optimizer.nesterov", job.nesterov);
  } else {
    w.f64("optimizer.beta1", job.beta1);
    w.f64("optimizer.beta2", job.beta2);
    w.f64("optimizer.epsilon", job.epsilon);
  }
}

void add_schedule(FieldWriter& w, const Job& job) {
  w.text("schedule.name", kSchedules[static_cast<size_t>(job.schedule)]);
  w.i64("schedule.warmup", job.warmup);
  if (job.schedule == Schedule::kStep) {
    w.i64("schedule.every", job.decay_every);
    w.f64("schedule.factor", job.decay_factor);
  }
  if (job.schedule == Schedule::kCosine) w.f64("schedule.min_lr", job.min_lr);
}

void add_rounding(FieldWriter& w, const Job& job) {
  const Rounding& r = job.rounding;
  if (arithmetic_of(job).rounds) w.i64("rounding.bits", r.bits);
  if (!arithmetic_of(job).logs) return;
  w.text("rounding.log", kLogs[static_cast<size_t>(r.log)]);
  if (r.log == log::Kind::kOvt) {
    w.f64("rounding.threshold", r.threshold);
    w.numbers("rounding.thresholds", r.thresholds);
    w.boolean("rounding.distance", r.distance);
  }
  if (r.log == log::Kind::kSparse || r.distance) {
    w.text("rounding.bound", kBounds[static_cast<size_t>(r.bound)]);
    if (r.bound == DivergenceBound::kCalibrated) {
      w.f64("rounding.divergence", r.divergence);
      w.numbers("rounding.divergences", r.divergences);
    }
  }
}

}  // namespace

const platform::Arithmetic& arithmetic_of(const Job& job) { return platform::arithmetic_of(job.arithmetic); }

Bytes canonical_job_bytes(const Job& job) {
  FieldWriter fields;
  fields.text("job.name", job.name);
  fields.u64("job.seed", job.seed);
  fields.i64("job.steps", job.steps);
  fields.text("job.arithmetic", job.arithmetic);
  add_model(fields, job.model);
  add_data(fields, job);
  add_optimizer(fields, job);
  add_schedule(fields, job);
  add_rounding(fields, job);
  fields.i64("evaluate.samples", job.evaluate_samples);
  fields.i64("commit.every", job.commit_every);
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
