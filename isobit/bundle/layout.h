// Names and limits of the files of a bundle. Layout: docs/formats/bundle.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace isobit::bundle {

inline constexpr uint32_t kBundleVersion = 1;

inline constexpr std::string_view kJobFile = "job.toml";
inline constexpr std::string_view kEngagementFile = "engagement";
inline constexpr std::string_view kTranscriptFile = "transcript";
inline constexpr std::string_view kHeadsFile = "heads";
inline constexpr std::string_view kCheckpointFolder = "checkpoints";
// Of an unfinished run only.
inline constexpr std::string_view kCheckpointIndexFile = "checkpoints/index";
inline constexpr std::string_view kLogFolder = "log";  // of a logged job only
inline constexpr std::string_view kLogFile = "log/segments";
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kManifestSignatureFile = "manifest.sig";
// Empty; held with flock by the one writer, gone from a finished run.
inline constexpr std::string_view kLockFile = "lock";

inline constexpr uint64_t kMaxJobBytes = 1 << 16;
inline constexpr uint64_t kMaxRecordFileBytes = uint64_t{1} << 30;    // transcript, heads
inline constexpr uint64_t kMaxLogSegmentBytes = uint64_t{256} << 20;  // of one step
inline constexpr uint64_t kMaxLogBytes = uint64_t{1} << 42;           // of all steps
inline constexpr uint64_t kMaxManifestBytes = 1 << 20;
inline constexpr uint64_t kMaxCheckpointBytes = uint64_t{1} << 40;
inline constexpr uint64_t kMaxCheckpointIndexBytes = 1 << 20;
inline constexpr uint64_t kMaxCheckpoints = 4096;  // so that a manifest can list them

// "step-120.safetensors"
std::string checkpoint_name(uint64_t step);
// The step of such a name; none for any other text (leading zeros, signs).
std::optional<uint64_t> checkpoint_step(std::string_view name);

// Whether `path` ("heads", "log/segments", "checkpoints/step-3.safetensors") is a file that a manifest lists.
bool is_bundle_file(std::string_view path);

}  // namespace isobit::bundle
