#include "isobit/base/frame.h"

#include <string>

#include "isobit/base/text.h"

namespace isobit {
namespace {
constexpr std::string_view kNewer = "from a newer version: found ";
}  // namespace

void write_frame(ByteWriter& writer, std::string_view tag, uint32_t version) {
  writer.text(tag);
  writer.u32(version);
}

Status read_frame(ByteReader& reader, std::string_view tag, uint32_t version) {
  ISOBIT_TRY(const uint64_t length, reader.u64("tag"));
  if (length != tag.size()) return reader.fail("tag", text_of("is not \"", tag, "\""));
  ISOBIT_TRY(const ByteView bytes, reader.fixed("tag", tag.size()));
  if (std::memcmp(bytes.data(), tag.data(), tag.size()) != 0) {
    return reader.fail("tag", text_of("is not \"", tag, "\""));
  }
  ISOBIT_TRY(const uint32_t found, reader.u32("version"));
  if (found == version) return {};
  if (found == 0) return reader.fail("version", "found 0, expected at least 1");
  return reader.fail("version", found > version
                                    ? text_of(kNewer, found, ", this isobit reads ", version, "; update isobit")
                                    : text_of("from an older version: found ", found, ", this isobit reads ", version));
}

bool has_tag(ByteView data, std::string_view tag) {
  ByteWriter writer;
  writer.text(tag);
  const Bytes& expected = writer.view();
  return data.size() >= expected.size() && std::memcmp(data.data(), expected.data(), expected.size()) == 0;
}

bool is_newer_version(const Error& error) {
  return error.code == ErrorCode::kUnreadable && error.message.find(kNewer) != std::string::npos;
}

}  // namespace isobit
