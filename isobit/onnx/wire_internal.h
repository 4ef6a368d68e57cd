// Protocol Buffers' wire format, looked through before any message is made: by it errors name the field, and what a
// message will take in memory is known. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::onnx {

enum class WireKind : uint8_t { kVarint, kFixed32, kFixed64, kName, kBytes, kMessage };

struct WireMessage;

struct WireField {
  uint32_t number;
  const char* name;
  WireKind kind;
  bool repeated = false;
  const WireMessage* (*message)() = nullptr;  // of kMessage
};

struct WireMessage {
  std::span<const WireField> fields;
};

const WireMessage* model_message();
const WireMessage* tensor_message();

struct WireLimits {
  int depth;
  uint64_t memory;
};

// What a message will take in memory, rather more than less.
struct WireSize {
  uint64_t bytes = 0;
  uint64_t raw_data = 0;  // of them: the bytes of tensors, which leave the message for the tensor
};

// Whether `data` are such a message with all its messages: every tag, length and wire type. kUnreadable, naming the
// field ("m.onnx: graph.node[3].attribute[0].t.raw_data: ..."), for what does not fit or passes a limit. Fields that
// are not in the table are stepped over. Linear time, constant memory but for the recursion.
Expected<WireSize> check_wire(ByteView data, const WireMessage& message, const WireLimits& limits,
                              const std::string& file);

}  // namespace isobit::onnx
