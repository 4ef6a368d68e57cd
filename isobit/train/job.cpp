#include "isobit/train/job.h"

#include "isobit/numerics/functions.h"

namespace isobit::train {

namespace {

void write_numbers(ByteWriter& w, const std::map<std::string, double>& numbers) {
  w.u64(numbers.size());
  for (const auto& [name, value] : numbers) {
    w.text(name);
    w.f64(value);
  }
}

}  // namespace

const platform::Arithmetic& arithmetic_of(const Job& job) { return platform::arithmetic_of(job.arithmetic); }

Bytes canonical_job_bytes(const Job& job) {
  ByteWriter w;
  w.text("isobit.job");
  w.u32(1);
  w.text(job.name);
  w.u64(job.seed);
  w.i64(job.steps);
  w.text(job.arithmetic);
  w.text(job.model.builder);
  w.i64(job.model.blocks);
  w.i64(job.model.width);
  w.i64(job.model.layers);
  w.i64(job.model.heads);
  w.i64(job.model.channels);
  w.f64(job.model.dropout);
  w.text(job.data.dataset);
  w.i64(job.data.context);
  w.u64(job.data.augment.size());
  for (const std::string& a : job.data.augment) w.text(a);
  w.i64(job.batch);
  w.u8(static_cast<uint8_t>(job.optimizer));
  for (double v : {job.lr, job.momentum, job.weight_decay, job.beta1, job.beta2, job.epsilon, job.clip_norm}) w.f64(v);
  w.boolean(job.nesterov);
  w.u8(static_cast<uint8_t>(job.schedule));
  w.i64(job.warmup);
  w.i64(job.decay_every);
  w.f64(job.decay_factor);
  w.f64(job.min_lr);
  w.i64(job.evaluate_samples);
  w.i64(job.commit_every);
  if (arithmetic_of(job).rounds) w.i64(job.rounding.bits);
  if (arithmetic_of(job).logs) {
    w.u8(static_cast<uint8_t>(job.rounding.log));
    w.u8(static_cast<uint8_t>(job.rounding.bound));
    w.f64(job.rounding.divergence);
    write_numbers(w, job.rounding.divergences);
    w.f64(job.rounding.threshold);
    write_numbers(w, job.rounding.thresholds);
  }
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
