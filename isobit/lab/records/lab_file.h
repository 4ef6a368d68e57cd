// A lab: the records of many runs in one SQLite file. Layout and limits: docs/formats/lab.md.
//
// A lab may come from a stranger. Opening one checks the whole file, compares its schema with ours letter by letter (no
// triggers, views or tables besides), and runs none of its SQL; every query binds its values. What is read is checked
// against the limits of encoding.h and a kept tensor against its hash. All errors of content are kUnreadable.
//
// Not thread-safe. Several processes may read a lab, and one may write it meanwhile; each run is written in one
// transaction, so that a crash leaves a whole lab.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "isobit/base/file.h"
#include "isobit/lab/records/encoding.h"

namespace isobit::lab::records {

struct MergeReport {
  uint64_t runs_added = 0, runs_known = 0;
  uint64_t tensors_added = 0;
  std::vector<Subject> other_graphs;  // whose graph is another one here, which stays: one of the two is not the model's
};

// Who made a record. A lab's own runs are those that a sweep measured into this very file: merge() and export_to() hand
// on no such mark. It is in the file, and so as good as whoever wrote that.
enum class Whose : uint8_t { kOwn, kOthers };

class LabFile {
 public:
  enum class Mode { kRead, kWrite };

  // Makes an empty lab, whole and durable or not at all. kUsage when something of that name is there.
  static Expected<LabFile> create(const fs::path& path);
  // The lab of that name, to be written; made where there is none. Several processes may do that at once.
  static Expected<LabFile> open_or_create(const fs::path& path);
  // A lab with what `fill` puts into it, made in one step, whole and durable, or not at all: it grows beside its name
  // ("NAME.<16 hex digits>.tmp"). Errors: kUsage when something of that name is there; those of `fill`.
  static Status make(const fs::path& path, const std::function<Status(LabFile&)>& fill);
  // The same for a lab that may be there: it then gets all that `fill` has put into a new one, in one transaction.
  static Status extend(const fs::path& path, const std::function<Status(LabFile&)>& fill);
  // kUnreadable unless it is a whole lab of this version, and for one in WAL mode or with a journal that names another
  // file (lab_safety.h). What a process left behind that was killed while it wrote the lab is rolled back.
  static Expected<LabFile> open(const fs::path& path, Mode mode);
  // An empty lab in memory, gone with the object; `what` starts its messages.
  static Expected<LabFile> in_memory(const std::string& what);
  // A lab that lies in memory, to be read.
  static Expected<LabFile> from_bytes(ByteView bytes, const std::string& what);
  LabFile(LabFile&&) noexcept;
  LabFile& operator=(LabFile&&) noexcept;
  ~LabFile();

  // One transaction. A run that is there already (the same digest) is left alone, but becomes the lab's own. kUsage
  // beyond the limits of encoding.h; kUnavailable when the disk is full or the lab cannot be written.
  Status add_run(const RunRecord& run, Whose whose = Whose::kOthers);
  // Digests of the lab's own runs.
  Expected<std::set<commit::Digest>> own_runs();

  // In order of first appearance.
  Expected<std::vector<Subject>> subjects();
  Expected<std::vector<PlatformRecord>> platforms();
  // In the order in which they were added, with all their values. kUnreadable where what they say of their platforms
  // takes more than `most_memory` bytes.
  Expected<std::vector<RunRecord>> runs(const Subject& subject, uint64_t most_memory = kMaxPlatformMemory);

  // Tensors by their content. keep() stores the bytes once, compressed; false, and nothing done, where the lab would
  // then hold more than `most` bytes of compressed tensors or the tensor is beyond kMaxTensor.
  Expected<bool> keep(ByteView tensor, uint64_t most);
  // The bytes whose hash that is; none where the lab does not have them.
  Expected<std::optional<Bytes>> tensor(const Hash128& hash);
  Expected<std::vector<Hash128>> kept();
  Expected<uint64_t> kept_bytes();  // compressed

  // The model's nodes; setting them again replaces them. None where nobody set them.
  Status set_graph(const Subject& subject, const std::vector<GraphNode>& nodes);
  // kUnreadable where they take more than `most_memory` bytes.
  Expected<std::vector<GraphNode>> graph(const Subject& subject, uint64_t most_memory = kMaxGraphMemory);

  // Everything of `other` that is not here, in one transaction: idempotent, and the order in which labs are merged
  // changes nothing but the order of first appearance. Graphs that are here already stay.
  Expected<MergeReport> merge(LabFile& other, bool with_tensors = true);
  // A new lab with all of this one, or all but the tensors, made in one step and durable: the file to send. kUsage when
  // something of that name is there.
  Status export_to(const fs::path& path, bool with_tensors = true);

 private:
  struct Impl;
  explicit LabFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace isobit::lab::records
