// Lists as the bytes of one column of a lab: docs/formats/lab.md.
#pragma once

#include "isobit/lab/records/record.h"

namespace isobit::lab::records {

// What no record exceeds. A lab that holds more is refused, and nothing is put into a lab that holds more.
constexpr uint64_t kMaxText = 64 * 1024;      // bytes of a name or another text
constexpr uint64_t kMaxList = 16 * 1024;      // flags, fields, inputs or outputs of a node
constexpr uint64_t kMaxRank = 64;             // dimensions
constexpr uint64_t kMaxColumn = 1024 * 1024;  // bytes of a list
constexpr uint64_t kMaxValues = 4'000'000;    // values of one run, nodes of one graph
constexpr uint64_t kMaxRuns = 1'000'000;      // of one subject
constexpr uint64_t kMaxTensor = 900'000'000;  // bytes of a kept tensor: SQLite holds no larger column
// Of runs that are read together, of all labs: what they say of platforms, each once, and of the subject, of which each
// run has a copy.
constexpr uint64_t kMaxPlatformMemory = uint64_t{2} << 30;
constexpr uint64_t kMaxGraphMemory = uint64_t{2} << 30;  // of the nodes of one graph, as memory_of counts them
constexpr uint64_t kMaxLab = 1ull << 36;                 // bytes of a lab file

Bytes encode(const std::vector<std::string>& texts);
Bytes encode(const std::map<std::string, std::string>& fields);
Bytes encode(const std::vector<int64_t>& dims);

// Exactly what encode writes, within the limits; kUnreadable otherwise. `what` starts the message.
Expected<std::vector<std::string>> decode_texts(ByteView bytes, const std::string& what);
Expected<std::map<std::string, std::string>> decode_fields(ByteView bytes, const std::string& what);
Expected<std::vector<int64_t>> decode_dims(ByteView bytes, const std::string& what);

// kUsage where a record is beyond a limit or says something that it cannot: unsorted flags, a negative dimension.
Status check(const RunRecord& run);
Status check(const std::vector<GraphNode>& nodes, uint64_t most_memory = kMaxGraphMemory);

// About how many bytes of memory a copy takes.
uint64_t memory_of(const PlatformRecord& platform);
uint64_t memory_of(const Subject& subject);
// Of what kMaxPlatformMemory bounds.
uint64_t memory_of(const std::vector<RunRecord>& runs);
uint64_t memory_of(const GraphNode& node);

}  // namespace isobit::lab::records
