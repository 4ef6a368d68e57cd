#include <algorithm>
#include <nlohmann/json.hpp>

#include "isobit/base/json_depth.h"
#include "isobit/base/text.h"
#include "isobit/lab/study/study.h"
#include "isobit/tensor/dtype_named.h"

namespace isobit::lab::study {
namespace {

using nlohmann::json;

// A field of a JSON object, by its type.
class Fields {
 public:
  Fields(const json& object, std::string what) : object_(object), what_(std::move(what)) {}

  tl::unexpected<Error> wrong(const char* name, const char* expected) const {
    return unreadable(text_of(what_, ": field '", name, "': expected ", expected));
  }
  bool has(const char* name) const { return object_.is_object() && object_.contains(name); }
  Expected<Fields> object(const char* name) const {
    if (!has(name) || !object_[name].is_object()) return wrong(name, "an object");
    return Fields(object_[name], text_of(what_, ": ", name));
  }
  Expected<std::string> text(const char* name) const {
    if (!has(name) || !object_[name].is_string()) return wrong(name, "a text");
    return object_[name].get<std::string>();
  }
  Expected<int64_t> count(const char* name, int64_t most) const {
    if (!has(name) || !object_[name].is_number_unsigned()) return wrong(name, "a number of 0 or more");
    const auto value = object_[name].get<uint64_t>();
    if (value > static_cast<uint64_t>(most)) return wrong(name, text_of("at most ", most).c_str());
    return static_cast<int64_t>(value);
  }
  Expected<std::vector<std::string>> texts(const char* name) const {
    if (!has(name) || !object_[name].is_array()) return wrong(name, "a list of texts");
    std::vector<std::string> list;
    for (const json& item : object_[name]) {
      if (!item.is_string()) return wrong(name, "a list of texts");
      list.push_back(item.get<std::string>());
    }
    return list;
  }
  Expected<std::vector<int64_t>> dims(const char* name) const {
    if (!has(name) || !object_[name].is_array() || object_[name].size() > 8) return wrong(name, "a list of dimensions");
    std::vector<int64_t> list;
    for (const json& item : object_[name]) {
      if (!item.is_number_unsigned() || item.get<uint64_t>() > kMaxRecord) return wrong(name, "a list of dimensions");
      list.push_back(item.get<int64_t>());
    }
    return list;
  }

 private:
  const json& object_;
  std::string what_;
};

// RFC 4648, padded, nothing else.
std::optional<Bytes> from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return {};
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  Bytes bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return {};
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<uint8_t>(bits >> count));
  }
  if ((bits & ((1u << count) - 1)) != 0) return {};
  return bytes;
}

struct Prediction {
  std::string dtype;
  std::vector<int64_t> dims;
  Bytes bytes;
};

Expected<Prediction> prediction_of(const Fields& record, const char* name) {
  ISOBIT_TRY(const Fields fields, record.object(name));
  Prediction p;
  ISOBIT_TRY(p.dtype, fields.text("dtype"));
  if (dtype_named(p.dtype) != DType::kFloat32) return fields.wrong("dtype", "float32");
  ISOBIT_TRY(p.dims, fields.dims("shape"));
  ISOBIT_TRY(const std::string base64, fields.text("bytes"));
  auto bytes = from_base64(base64);
  uint64_t size = 4;
  for (const int64_t dim : p.dims) size = std::min<uint64_t>(size * static_cast<uint64_t>(dim), 1ull << 40);
  if (!bytes || bytes->size() != size || size == 0)
    return fields.wrong("bytes", "base64 of as many bytes as the shape says");
  p.bytes = *std::move(bytes);
  return p;
}

// PLACE/cpu|gpu/NAME-MODEL-iN.json
struct Path {
  std::string place, name, input;
};

Expected<Path> parse(const std::string& path, const std::string& model) {
  const fs::path p(path);
  const std::string stem = p.stem().string();
  const size_t dash = stem.rfind("-i");
  const std::string middle = text_of("-", model);
  const std::string head = dash == stem.npos ? "" : stem.substr(0, dash);
  const bool digits = dash != stem.npos && stem.size() > dash + 2 && stem.size() < dash + 8 &&
                      std::ranges::all_of(stem.substr(dash + 2), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || !head.ends_with(middle) || head.size() == middle.size()) {
    return unreadable(text_of(path, ": its name should be PLATFORM", middle, "-iNUMBER.json"));
  }
  const std::string place = p.parent_path().parent_path().filename().string();
  return Path{place, head.substr(0, head.size() - middle.size()), stem.substr(dash + 1)};
}

Expected<records::PlatformRecord> platform_of(const Fields& record, const Path& path) {
  records::PlatformRecord platform;
  ISOBIT_TRY(const Fields cpu, record.object("cpu_info"));
  ISOBIT_TRY(const Fields device, record.object("device"));
  ISOBIT_TRY(platform.fields["cpu"], cpu.text("brand_raw"));
  ISOBIT_TRY(platform.cores, cpu.count("count", 1 << 20));
  ISOBIT_TRY(platform.cpu_flags, cpu.texts("flags"));
  std::ranges::sort(platform.cpu_flags);
  platform.cpu_flags.erase(std::ranges::unique(platform.cpu_flags).begin(), platform.cpu_flags.end());
  ISOBIT_TRY(platform.fields["device"], device.text("device_type"));
  if (device.has("physical_description")) {
    ISOBIT_TRY(const Fields gpu, device.object("physical_description"));
    ISOBIT_TRY(platform.fields["gpu"], gpu.text("name"));
    ISOBIT_TRY(platform.fields["compute capability"], gpu.text("compute capability"));
  }
  platform.fields["place"] = path.place;
  platform.engine = "tensorflow";
  platform.name = path.place.empty() ? path.name : text_of(path.place, "/", path.name);
  return platform;
}

}  // namespace

Expected<StudyRun> decode_record(ByteView bytes, const std::string& path) {
  if (bytes.size() > kMaxRecord) {
    return unreadable(text_of(path, ": has ", bytes.size(), " bytes, expected at most ", kMaxRecord));
  }
  ISOBIT_RETURN_IF_ERROR(check_json_depth(bytes, 16, path));
  const json document = json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (document.is_discarded() || !document.is_object()) return unreadable(text_of(path, ": not a JSON object"));
  const Fields record(document, path);
  ISOBIT_TRY(const std::string model, record.text("model_type"));
  ISOBIT_TRY(const Path parts, parse(path, model));
  ISOBIT_TRY(const records::SharedPlatform platform, platform_of(record, parts));
  ISOBIT_TRY(Prediction prediction, prediction_of(record, "prediction"));
  if (prediction.dims.size() == 1) prediction.dims.insert(prediction.dims.begin(), 1);  // GPUs: a row of the repeats
  const uint64_t row = prediction.bytes.size();
  StudyRun study;
  study.outputs.push_back(prediction.bytes);
  if (record.has("all_predictions")) {
    ISOBIT_TRY(const Prediction all, prediction_of(record, "all_predictions"));
    if (all.bytes.size() % row != 0) {
      return unreadable(text_of(path, ": all_predictions: expected rows of ", row, " bytes, found ", all.bytes.size()));
    }
    bool told = false;  // the prediction is one of them, and counts once
    for (uint64_t at = 0; at < all.bytes.size(); at += row) {
      const auto begin = all.bytes.begin() + static_cast<int64_t>(at);
      Bytes repeat(begin, begin + static_cast<int64_t>(row));
      if (!told && repeat == prediction.bytes) {
        told = true;
      } else {
        study.outputs.push_back(std::move(repeat));
      }
    }
  }
  const records::Subject subject{records::SubjectKind::kPublished, model, {}, {}, text_of("input ", parts.input)};
  for (const Bytes& output : study.outputs) {
    records::ValueRecord value{.name = "softmax",
                               .op = "",
                               .dtype = prediction.dtype,
                               .dims = prediction.dims,
                               .hash = records::hash_of(output),
                               .kernel = "",
                               .is_output = true};
    study.runs.push_back({.subject = subject,
                          .platform = platform,
                          .repeat = static_cast<uint32_t>(study.runs.size()),
                          .error = "",
                          .values = {std::move(value)}});
  }
  return study;
}

}  // namespace isobit::lab::study
