// The table of fields by which bytes are looked through says what the schema says.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>

#include "isobit/onnx/full_schema.pb.h"
#include "isobit/onnx/wire_internal.h"

namespace isobit::onnx {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// What is text in the schema may be of any length in the table.
bool has_kind(const FieldDescriptor& field, WireKind kind) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_STRING:
      return kind == WireKind::kName || kind == WireKind::kBytes;
    case FieldDescriptor::TYPE_BYTES:
      return kind == WireKind::kBytes;
    case FieldDescriptor::TYPE_MESSAGE:
      return kind == WireKind::kMessage;
    case FieldDescriptor::TYPE_FLOAT:
      return kind == WireKind::kFixed32;
    case FieldDescriptor::TYPE_DOUBLE:
      return kind == WireKind::kFixed64;
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_INT64:
    case FieldDescriptor::TYPE_UINT64:
    case FieldDescriptor::TYPE_ENUM:
      return kind == WireKind::kVarint;
    default:
      return false;
  }
}

void compare(const Descriptor& schema, const WireMessage& table, std::set<const Descriptor*>& seen) {
  if (!seen.insert(&schema).second) return;
  EXPECT_EQ(static_cast<size_t>(schema.field_count()), table.fields.size()) << schema.full_name();
  for (const WireField& field : table.fields) {
    const FieldDescriptor* found = schema.FindFieldByNumber(static_cast<int>(field.number));
    ASSERT_NE(found, nullptr) << schema.full_name() << " " << field.number;
    EXPECT_EQ(found->name(), field.name);
    EXPECT_EQ(found->is_repeated(), field.repeated) << found->full_name();
    EXPECT_TRUE(has_kind(*found, field.kind)) << found->full_name();
    if (field.kind == WireKind::kMessage) compare(*found->message_type(), *field.message(), seen);
  }
}

TEST(WireFields, AreThoseOfTheSchema) {
  std::set<const Descriptor*> seen;
  compare(*full::ModelProto::descriptor(), *model_message(), seen);
  const auto& file = *full::ModelProto::descriptor()->file();
  int messages = file.message_type_count();
  for (int i = 0; i < file.message_type_count(); ++i) messages += file.message_type(i)->nested_type_count();
  EXPECT_EQ(static_cast<int>(seen.size()), messages) << "all of them are in the table";
}

}  // namespace
}  // namespace isobit::onnx
