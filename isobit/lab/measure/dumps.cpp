#include "isobit/lab/measure/dumps.h"

#include <algorithm>
#include <optional>
#include <set>

#include "isobit/base/text.h"
#include "isobit/formats/safetensors.h"
#include "isobit/lab/measure/npz.h"
#include "isobit/lab/measure/recorder.h"
#include "isobit/lab/measure/subject.h"
#include "isobit/lab/records/encoding.h"

namespace isobit::lab::measure {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string without_zeros(const std::string& digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == digits.npos ? "" : digits.substr(first);
}

// The run of digits that starts there.
std::string digits_at(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return text.substr(at, end - at);
}

Expected<std::vector<fs::path>> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    const std::string extension = at->path().extension().string();
    if (extension != ".npz" && extension != ".safetensors") continue;
    files.push_back(at->path());
    if (files.size() > kMaxDumpFiles) {
      return unreadable(text_of(folder.string(), ": more than ", kMaxDumpFiles, " files"));
    }
  }
  if (error) return cannot("look into", folder, error.value());
  if (files.empty()) {
    return usage_error(text_of("--import: no .npz or .safetensors file in ", folder.string(), "; one for each step"));
  }
  std::ranges::sort(files, [](const fs::path& a, const fs::path& b) {
    return in_natural_order(a.filename().string(), b.filename().string());
  });
  return files;
}

// The last number in a name; none where there is none, or one that is too large.
std::optional<int64_t> last_number(const std::string& name) {
  size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  if (begin == end || end - begin > 18) return {};
  return std::stoll(name.substr(begin, end - begin));
}

std::vector<int64_t> steps_of(const std::vector<fs::path>& files) {
  std::vector<int64_t> steps, places;
  for (const fs::path& file : files) {
    places.push_back(static_cast<int64_t>(places.size()));
    const auto number = last_number(file.stem().string());
    if (number && (steps.empty() || *number > steps.back())) steps.push_back(*number);
  }
  return steps.size() == files.size() ? steps : places;
}

// Whether a tensor may have memory. `copies`: of it, while it is read.
Status check_fits(const DumpsRequest& request, const std::string& what, uint64_t bytes, uint64_t copies) {
  // To be kept it is packed, which random numbers hardly make smaller, and the database has a copy of that.
  if (request.max_kept > 0 && bytes <= records::kMaxTensor) copies = std::max<uint64_t>(copies, 3);
  if (bytes * copies <= request.max_memory) return {};
  return unavailable(text_of(what, ": ", human_bytes(bytes), " take about ", human_bytes(bytes * copies),
                             " of memory, more than the ", human_bytes(request.max_memory),
                             " allowed; allow more with --max-memory",
                             copies == 3 ? ", or record hashes alone with --keep none" : ""));
}

// The tensors of one file, one at a time in memory, in the order of their data.
Status read_dump(const fs::path& path, const DumpsRequest& request,
                 const std::function<Status(const NamedTensor&)>& take) {
  if (path.extension() == ".npz") {
    const auto wants = [&](const std::string& entry, const formats::NpyLayout& layout) {
      return check_fits(request, entry, layout.bytes(), layout.fortran_order ? 2 : 1);
    };
    return read_npz(path, kMaxDumpFile, {take, wants});
  }
  const auto wants = [&](const std::string& name, DType dtype, const Shape& shape) {
    const uint64_t bytes = static_cast<uint64_t>(shape.elements()) * size_of(dtype);
    return check_fits(request, text_of(path.string(), ": tensor '", name, "'"), bytes, 1);
  };
  ISOBIT_TRY(const PlainFile file, PlainFile::open(path, Links::kFollow));
  const auto read = [&](uint64_t offset, std::span<uint8_t> to) { return file.read_exactly(offset, to); };
  std::set<std::string> seen;
  const auto take_composed = [&](NamedTensor tensor) -> Status {
    ISOBIT_TRY(tensor.name, composed(tensor.name));
    if (!seen.insert(tensor.name).second) {
      return unreadable(text_of(path.string(), ": tensor '", tensor.name, "' is there twice, in composed form (NFC)"));
    }
    return take(tensor);
  };
  return formats::stream_safetensors(file.size(), read, {wants, take_composed}, path.string(), kMaxDumpFile)
      .map([](auto&&) {});
}

// What a lab has already of tensors, where there is one.
struct Held {
  std::set<records::Hash128> tensors;
  uint64_t bytes = 0;
};
Expected<Held> held_by(const fs::path& path) {
  Held held;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return held;
  ISOBIT_TRY(records::LabFile lab, records::LabFile::open(path, records::LabFile::Mode::kWrite));
  ISOBIT_TRY(const auto hashes, lab.kept());
  held.tensors.insert(hashes.begin(), hashes.end());
  ISOBIT_TRY(held.bytes, lab.kept_bytes());
  return held;
}

// Each file is read once, so that what is kept is what was hashed, whatever happens to the files meanwhile.
Expected<std::vector<records::ValueRecord>> read_values(const std::vector<fs::path>& files, const DumpsRequest& request,
                                                        const Held& held, records::LabFile& lab, DumpsReport& report) {
  const std::vector<int64_t> steps = steps_of(files);
  const uint64_t room = request.max_kept - std::min(request.max_kept, held.bytes);
  std::vector<records::ValueRecord> values;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto first = static_cast<ptrdiff_t>(values.size());
    ISOBIT_RETURN_IF_ERROR(read_dump(files[i], request, [&](const NamedTensor& tensor) -> Status {
      if (values.size() >= records::kMaxValues || tensor.name.size() > records::kMaxText) {
        return unreadable(text_of(files[i].string(), ": more than ", records::kMaxValues,
                                  " tensors in all files, or a name of more than ", records::kMaxText, " bytes"));
      }
      values.push_back(value_record(tensor.name, tensor.tensor));
      values.back().step = steps[i];
      if (request.max_kept == 0) return {};
      bool kept = held.tensors.contains(values.back().hash);
      if (!kept) {
        ISOBIT_TRY(kept, lab.keep(tensor.tensor.byte_view(), room));
      }
      report.kept_tensors += kept;
      report.left_out += !kept;
      return {};
    }));
    if (files[i].extension() == ".npz") continue;
    std::ranges::sort(values.begin() + first, values.end(), in_natural_order, &records::ValueRecord::name);
  }
  return values;
}

}  // namespace

bool in_natural_order(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string x = digits_at(a, i), y = digits_at(b, j);
      const std::string p = without_zeros(x), q = without_zeros(y);
      if (p.size() != q.size()) return p.size() < q.size();
      if (p != q) return p < q;
      i += x.size();
      j += y.size();
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  const size_t left_a = a.size() - i, left_b = b.size() - j;
  return left_a != left_b ? left_a < left_b : a < b;  // "step1" and "step01" are two names
}

Expected<DumpsReport> import_dumps(const DumpsRequest& request) {
  ISOBIT_TRY(const std::vector<fs::path> files, files_of(request.folder));
  std::error_code ignored;
  DumpsReport report;
  records::RunRecord run;
  run.subject.kind = records::SubjectKind::kDumps;
  if (!request.model.empty()) {
    run.subject.model = request.model.filename().string();
    ISOBIT_TRY(run.subject.model_sha256, sha256_of_file(request.model));
  }
  const fs::path whole = fs::absolute(request.folder, ignored).lexically_normal();
  const fs::path folder = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  run.platform = {request.platform.empty() ? folder.string() : request.platform, "dumps", {}, {}, 0};
  run.tapped = true;
  ISOBIT_TRY(const Held held, held_by(request.lab));
  ISOBIT_RETURN_IF_ERROR(records::LabFile::extend(request.lab, [&](records::LabFile& lab) -> Status {
    ISOBIT_TRY(run.values, read_values(files, request, held, lab, report));
    return lab.add_run(run);
  }));
  report.subject = run.subject;
  report.platform = run.platform->name;
  report.steps = static_cast<int64_t>(files.size());
  report.values = run.values.size();
  return report;
}

}  // namespace isobit::lab::measure
