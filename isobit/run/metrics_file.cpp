#include "isobit/run/metrics_file.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/formats/json_header.h"

namespace isobit::run {
namespace {

constexpr size_t kMostLine = 4096;  // none that is written is as long

std::string number(double value) { return std::isfinite(value) ? text_of(value) : "null"; }
std::string number(float value) { return std::isfinite(value) ? text_of(value) : "null"; }

// Names of metrics are of a-z, 0-9 and the like (verify/evaluation.h), so none needs to be escaped.
void add(std::string& line, std::string_view key, const std::string& value) {
  line += text_of(line.empty() ? "{\"" : ",\"", key, "\":", value);
}

// The step that a whole line, without its end, begins with.
Expected<int64_t> step_of(std::string_view line, const std::string& what) {
  formats::JsonCursor cursor(line, what);
  ISOBIT_RETURN_IF_ERROR(cursor.expect('{'));
  ISOBIT_TRY(const std::string key, cursor.string());
  ISOBIT_RETURN_IF_ERROR(cursor.expect(':'));
  ISOBIT_TRY(const int64_t step, cursor.integer());
  if (key != "step" || !line.ends_with('}')) return cursor.fail("expected an object that begins with a step");
  return step;
}

// Whether a line may be one that was cut short.
bool may_be_cut(std::string_view text) {
  constexpr std::string_view kFront = "{\"step\":";
  return text.starts_with(kFront) || kFront.starts_with(text);
}

// What lies at the front of a file.
struct Kept {
  uint64_t bytes = 0;
  int64_t last_step = 0;  // 0: no line
};

// The lines of steps up to `step`.
Expected<Kept> kept_lines(const fs::path& path, int64_t step) {
  ISOBIT_TRY(const PlainFile file, PlainFile::open(path, Links::kRefuse));
  Bytes buffer(kMostLine);
  Kept kept;
  for (int64_t number = 1; kept.bytes < file.size(); ++number) {
    ISOBIT_TRY(const size_t got, file.read_at(kept.bytes, buffer));
    const std::string_view text(reinterpret_cast<const char*>(buffer.data()), got);
    const size_t end = text.find('\n');
    const std::string what = text_of(path.string(), ":", number);
    if (end == std::string_view::npos) {
      if (got < kMostLine && may_be_cut(text)) break;  // it was being written
      return unreadable(text_of(what, ": is no line of metrics; is this the file of this run? It was left as it is"));
    }
    const auto found = step_of(text.substr(0, end), what);
    if (!found) {
      return unreadable(text_of(found.error().message, "; it is no file of metrics, and was left as it is"));
    }
    if (*found > step) break;
    kept.bytes += end + 1;
    kept.last_step = *found;
  }
  return kept;
}

Expected<bundle::AppendFile> open_file(const fs::path& path, uint64_t size) {
  if (!fs::exists(fs::symlink_status(path))) ISOBIT_RETURN_IF_ERROR(create_file_durably(path, {}));
  return bundle::AppendFile::open(path, size);
}

// That it may be written at all.
Status check_place(const fs::path& path) {
  ISOBIT_RETURN_IF_ERROR(check_writable_name(path, true));
  return bundle::check_outside_runs(path);
}

}  // namespace

std::string line_of(const StepMetrics& m) {
  std::string line;
  add(line, "step", text_of(m.step));
  add(line, "epoch", number(m.epoch));
  add(line, "loss", number(m.loss));
  add(line, "lr", number(m.lr));
  if (m.seconds > 0) {
    add(line, "seconds", number(m.seconds));
    add(line, "samples_per_second", number(m.samples_per_second));
  }
  if (m.scores) {
    add(line, "test_samples", text_of(m.scores->samples));
    for (const train::Metric& metric : m.scores->metrics) {
      add(line, "test_" + metric.name, number(train::value_of(metric)));
    }
    if (const auto perplexity = train::perplexity_of(m.scores->samples, m.scores->metrics)) {
      add(line, "test_perplexity", number(*perplexity));
    }
  }
  return line + "}\n";
}

Expected<MetricsFile> MetricsFile::begin(const fs::path& path) {
  ISOBIT_RETURN_IF_ERROR(check_place(path));
  std::error_code error;
  if (fs::exists(path, error) && fs::file_size(path, error) > 0) {
    return usage_error(text_of(path.string(), ": has something in it already, and a run that begins writes a new ",
                               "file of metrics; choose another name or remove it"));
  }
  ISOBIT_TRY(bundle::AppendFile file, open_file(path, 0));
  return MetricsFile(std::move(file), 0);
}

Expected<MetricsFile> MetricsFile::go_on(const fs::path& path, int64_t step) {
  ISOBIT_RETURN_IF_ERROR(check_place(path));
  Kept kept{0, step};
  if (fs::exists(fs::symlink_status(path))) {
    ISOBIT_TRY(kept, kept_lines(path, step));
  }
  ISOBIT_TRY(bundle::AppendFile file, open_file(path, kept.bytes));
  return MetricsFile(std::move(file), kept.last_step);
}

Status MetricsFile::append(const StepMetrics& metrics) {
  const std::string line = line_of(metrics);
  ISOBIT_RETURN_IF_ERROR(file_.append({reinterpret_cast<const uint8_t*>(line.data()), line.size()}));
  last_step_ = metrics.step;
  return {};
}

}  // namespace isobit::run
