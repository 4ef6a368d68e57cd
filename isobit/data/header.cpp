#include "isobit/data/header.h"

#include <algorithm>
#include <optional>

#include "isobit/base/text.h"
#include "isobit/data/preprocessing.h"

namespace isobit::data {
namespace {

constexpr std::string_view kMagic = "isobit dataset\n";
constexpr uint8_t kImages = 1, kTokens = 2;  // in version 1
constexpr uint64_t kMaxInputBytes = uint64_t{1} << 40;
constexpr int64_t kTextClasses = 256;
constexpr size_t kMaxName = 32;  // of a dataset or a rule

// Which rules the datasets have.
struct NamedRules {
  std::string name;
  std::vector<std::string> rules;
};
const std::vector<NamedRules>& known() {
  static const std::vector<NamedRules> kKnown = {
      {"digits", {"u8/16"}},
      {"mnist", {"u8/255"}},
      {"cifar10", {"cifar10-standardized-1"}},
      {"npy", {"f32", "u8/255", "u8", "as-stored"}},
      {"images", {"u8/255", "u8", "as-stored"}},
      {"text", {"bytes", "tokens"}},
  };
  return kKnown;
}

uint32_t version_of(const DatasetHeader& header) {
  if (header.tokenizer) return 3;
  if (header.name != "npy") return 1;
  const bool old = header.inputs.size() == 1 && header.inputs[0].name == "input" &&
                   (header.stored[0].preprocessing == "f32" || header.stored[0].preprocessing == "u8/255") &&
                   header.target.kind == TargetKind::kClass;
  return old ? 1 : 2;
}

void write_dims(ByteWriter& writer, const std::vector<int64_t>& dims) {
  writer.u32(static_cast<uint32_t>(dims.size()));
  for (const int64_t dim : dims) writer.i64(dim);
}

void write_one_input(ByteWriter& writer, const DatasetHeader& header) {
  const Target& target = header.target;
  ISOBIT_CHECK(header.inputs.size() == 1 && header.inputs[0].name == "input");
  ISOBIT_CHECK(target.kind == TargetKind::kClass || target.kind == TargetKind::kClassPerToken);
  writer.u8(target.kind == TargetKind::kClass ? kImages : kTokens);
  writer.u8(static_cast<uint8_t>(header.stored[0].stored));
  writer.u8(static_cast<uint8_t>(header.inputs[0].dtype));
  write_dims(writer, header.inputs[0].shape);
  writer.i64(target.classes);
  writer.i64(header.train_count);
  writer.i64(header.test_count);
  writer.text(header.stored[0].preprocessing);
}

void write_inputs_and_target(ByteWriter& writer, const DatasetHeader& header) {
  writer.u32(static_cast<uint32_t>(header.inputs.size()));
  for (size_t i = 0; i < header.inputs.size(); ++i) {
    writer.text(header.inputs[i].name);
    writer.u8(static_cast<uint8_t>(header.stored[i].stored));
    writer.u8(static_cast<uint8_t>(header.inputs[i].dtype));
    write_dims(writer, header.inputs[i].shape);
    writer.text(header.stored[i].preprocessing);
  }
  writer.u8(static_cast<uint8_t>(header.target.kind));
  writer.u8(static_cast<uint8_t>(header.target.dtype));
  write_dims(writer, header.target.shape);
  writer.i64(header.target.classes);
  writer.i64(header.train_count);
  writer.i64(header.test_count);
}

Expected<DType> read_type(ByteReader& reader, const char* field) {
  ISOBIT_TRY(const uint8_t number, reader.u8(field));
  const std::optional<DType> type = dtype_of_number(number);
  if (!type) return reader.fail(field, text_of("found ", number, ", expected the number of a type (1 to 13)"));
  return *type;
}

Expected<std::vector<int64_t>> read_dims(ByteReader& reader, const char* field) {
  ISOBIT_TRY(const uint32_t rank, reader.u32(field));
  if (rank > kMaxSampleRank) {
    return reader.fail(field, text_of("found ", rank, " dimensions, expected at most ", kMaxSampleRank));
  }
  std::vector<int64_t> dims(rank);
  for (int64_t& dim : dims) {
    ISOBIT_TRY(dim, reader.i64(field));
    if (dim < 1) return reader.fail(field, text_of("found ", dim, ", expected at least 1"));
  }
  if (!checked_elements(dims, DType::kInt64, kMaxInputBytes)) {
    return reader.fail(field, text_of("found ", Shape(dims).text(), ", expected a smaller sample"));
  }
  return dims;
}

void write_tokenizer(ByteWriter& writer, const TokenizerFiles& tokenizer) {
  writer.text(tokenizer.name);
  writer.fixed(tokenizer.encoder);
  writer.fixed(tokenizer.merges);
}

Status read_tokenizer(ByteReader& reader, DatasetHeader& header) {
  TokenizerFiles tokenizer;
  ISOBIT_TRY(tokenizer.name, reader.text("tokenizer", kMaxName));
  const auto& names = tokenizer_names();
  if (std::find(names.begin() + 1, names.end(), tokenizer.name) == names.end()) {
    return reader.fail("tokenizer", text_of("found \"", tokenizer.name, "\", expected \"", names[1], "\""));
  }
  for (auto* digest : {&tokenizer.encoder, &tokenizer.merges}) {
    ISOBIT_TRY(const ByteView bytes, reader.fixed("digest of a tokenizer's file", digest->size()));
    std::ranges::copy(bytes, digest->begin());
  }
  header.tokenizer = std::move(tokenizer);
  return {};
}

Status read_counts(ByteReader& reader, DatasetHeader& header) {
  ISOBIT_TRY(header.train_count, reader.i64("training samples"));
  if (header.train_count < 1) {
    return reader.fail("training samples", text_of("found ", header.train_count, ", expected at least 1"));
  }
  ISOBIT_TRY(header.test_count, reader.i64("test samples"));
  if (header.test_count < 0) {
    return reader.fail("test samples", text_of("found ", header.test_count, ", expected at least 0"));
  }
  return {};
}

Status read_types(ByteReader& reader, SampleInput& input, StoredInput& stored) {
  ISOBIT_TRY(stored.stored, read_type(reader, "stored type"));
  ISOBIT_TRY(input.dtype, read_type(reader, "input type"));
  ISOBIT_TRY(input.shape, read_dims(reader, "dimensions"));
  return {};
}

Status read_one_input(ByteReader& reader, DatasetHeader& header) {
  ISOBIT_TRY(const uint8_t kind, reader.u8("kind"));
  const uint8_t expected = header.name == "text" ? kTokens : kImages;
  if (kind != expected) return reader.fail("kind", text_of("found ", kind, ", expected ", expected));
  SampleInput input{.name = "input"};
  StoredInput stored;
  ISOBIT_RETURN_IF_ERROR(read_types(reader, input, stored));
  header.target = {TargetKind::kClass, DType::kInt64, {}, 0};
  if (kind == kTokens) header.target = {TargetKind::kClassPerToken, DType::kInt64, input.shape, 0};
  ISOBIT_TRY(header.target.classes, reader.i64("classes"));
  ISOBIT_RETURN_IF_ERROR(read_counts(reader, header));
  ISOBIT_TRY(stored.preprocessing, reader.text("preprocessing", kMaxName));
  header.inputs = {std::move(input)};
  header.stored = {std::move(stored)};
  return {};
}

Status read_inputs_and_target(ByteReader& reader, DatasetHeader& header) {
  ISOBIT_TRY(const uint32_t count, reader.u32("inputs"));
  if (count < 1 || count > kMaxInputs) {
    return reader.fail("inputs", text_of("found ", count, ", expected 1 to ", kMaxInputs));
  }
  for (uint32_t i = 0; i < count; ++i) {
    SampleInput input;
    StoredInput stored;
    ISOBIT_TRY(input.name, reader.text("input name", kMaxInputName));
    if (input.name.empty()) return reader.fail("input name", "is empty, expected 1 to 256 bytes");
    if (i > 0 && header.inputs.back().name >= input.name) {
      return reader.fail("input name", "the names are not strictly increasing");
    }
    ISOBIT_RETURN_IF_ERROR(read_types(reader, input, stored));
    ISOBIT_TRY(stored.preprocessing, reader.text("preprocessing", kMaxName));
    header.inputs.push_back(std::move(input));
    header.stored.push_back(std::move(stored));
  }
  ISOBIT_TRY(const uint8_t kind, reader.u8("target kind"));
  if (kind >= target_kind_names().size()) {
    return reader.fail("target kind", text_of("found ", kind, ", expected 0 to 4"));
  }
  header.target.kind = static_cast<TargetKind>(kind);
  ISOBIT_TRY(header.target.dtype, read_type(reader, "target type"));
  ISOBIT_TRY(header.target.shape, read_dims(reader, "target dimensions"));
  ISOBIT_TRY(header.target.classes, reader.i64("classes"));
  return read_counts(reader, header);
}

Status check_rules(ByteReader& reader, const DatasetHeader& header) {
  const auto rules = std::ranges::find(known(), header.name, &NamedRules::name);
  const bool npy = header.name == "npy", text = header.name == "text";
  for (size_t i = 0; i < header.inputs.size(); ++i) {
    const SampleInput& input = header.inputs[i];
    const StoredInput& stored = header.stored[i];
    const auto rule = preprocessing_named(stored.preprocessing, stored.stored, input.dtype);
    const bool has = std::ranges::find(rules->rules, stored.preprocessing) != rules->rules.end();
    if (!has || !rule || !rule->fits(stored.stored, input.shape)) {
      return reader.fail("preprocessing", text_of("found \"", stored.preprocessing, "\", expected a rule of dataset \"",
                                                  header.name, "\" that makes ", name_of(input.dtype), " of ",
                                                  name_of(stored.stored), " ", Shape(input.shape).text()));
    }
    const DType wanted = header.tokenizer ? DType::kInt32 : DType::kUint8;
    const bool bytes = stored.stored == wanted, ranks = input.shape.size() == (text ? 1u : 3u);
    if ((!npy && (!bytes || !ranks)) || stored.stored == DType::kBfloat16) {
      return reader.fail("dimensions",
                         text_of("found samples of ", name_of(stored.stored), " ", Shape(input.shape).text(),
                                 ", which dataset \"", header.name, "\" does not have"));
    }
  }
  return {};
}

Status check_target(ByteReader& reader, const DatasetHeader& header) {
  const Target& target = header.target;
  const bool classes = target.kind == TargetKind::kClass || target.kind == TargetKind::kClassPerToken;
  const bool single = target.kind == TargetKind::kClass || target.kind == TargetKind::kNone;
  if (target.dtype != (classes ? DType::kInt64 : DType::kFloat32) || (single && !target.shape.empty()) ||
      (target.kind == TargetKind::kClassPerToken && target.shape.empty())) {
    return reader.fail("target type", text_of("found ", name_of(target.dtype), " ", Shape(target.shape).text(),
                                              ", which a target of kind ",
                                              target_kind_names()[static_cast<size_t>(target.kind)], " is not"));
  }
  int64_t least = 0, most = 0;
  if (target.kind == TargetKind::kMultiLabel) least = most = Shape(target.shape).elements();
  if (classes) least = 1, most = kMaxClasses;
  if (header.name == "text") least = most = kTextClasses;
  if (header.tokenizer) most = kMaxClasses;
  if (target.classes < least || target.classes > most) {
    return reader.fail("classes", text_of("found ", target.classes, ", expected ", least, " to ", most));
  }
  return {};
}

}  // namespace

Bytes encode(const DatasetHeader& header) {
  ISOBIT_CHECK(header.stored.size() == header.inputs.size());
  const uint32_t version = version_of(header);
  ByteWriter writer;
  writer.fixed(as_bytes(kMagic));
  writer.u32(version);
  writer.text(header.name);
  if (header.tokenizer) write_tokenizer(writer, *header.tokenizer);
  if (version != 2) {
    write_one_input(writer, header);
  } else {
    write_inputs_and_target(writer, header);
  }
  return writer.take();
}

Expected<DatasetHeader> decode_dataset_header(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  if (data.size() > kMaxHeaderBytes) {
    return reader.fail("header", text_of("has ", data.size(), " bytes, expected at most ", kMaxHeaderBytes));
  }
  ISOBIT_TRY(const ByteView magic, reader.fixed("magic", kMagic.size()));
  if (!std::ranges::equal(magic, as_bytes(kMagic))) return reader.fail("magic", "is not that of a dataset header");
  ISOBIT_TRY(const uint32_t version, reader.u32("version"));
  if (version < 1 || version > 3) {
    return reader.fail("version", text_of("found ", version, ", expected 1 to 3; a newer isobit may read it"));
  }
  DatasetHeader header;
  ISOBIT_TRY(header.name, reader.text("name", kMaxName));
  if (std::ranges::find(known(), header.name, &NamedRules::name) == known().end()) {
    return reader.fail("name", text_of("found \"", header.name, "\", expected ", join_or(dataset_names())));
  }
  const std::string only = version == 2 ? "npy" : version == 3 ? "text" : header.name;
  if (header.name != only) {
    return reader.fail("name", text_of("found \"", header.name, "\", expected ", only, " in version ", version));
  }
  if (version == 3) ISOBIT_RETURN_IF_ERROR(read_tokenizer(reader, header));
  ISOBIT_RETURN_IF_ERROR(version == 2 ? read_inputs_and_target(reader, header) : read_one_input(reader, header));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  ISOBIT_RETURN_IF_ERROR(check_rules(reader, header));
  ISOBIT_RETURN_IF_ERROR(check_target(reader, header));
  if (version_of(header) != version) {
    return reader.fail("version", text_of("found ", version, ", expected ", version_of(header), " for such samples"));
  }
  return header;
}

Bytes dataset_header(const Dataset& dataset, std::vector<StoredInput> stored, std::optional<TokenizerFiles> tokenizer) {
  return encode(DatasetHeader{dataset.name(), dataset.inputs(), std::move(stored), dataset.target(),
                              dataset.train_count(), dataset.test_count(), std::move(tokenizer)});
}

}  // namespace isobit::data
