// What a run that goes on has more than when it was opened.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/parts_internal.h"
#include "isobit/bundle/reader.h"

namespace isobit::bundle {

// Files are appended to, so what a head covers stays where it is: the record that was read last shows whether it does.
class BundleContinuer {
 public:
  BundleContinuer(BundleReader& reader, const BundleFront& front, const RunLimits& limits)
      : reader_(reader), front_(front), limits_(limits) {}

  Expected<bool> run() {
    if (front_.finished() || reader_.finished() || !reader_.covered_) return false;
    const bool same = front_.engagement_ == reader_.engagement_ && front_.job_toml_ == reader_.job_toml_ &&
                      reader_.transcript_.rules() == limits_.rules;
    if (!same) return false;
    ISOBIT_TRY(const bool heads, read_heads());
    if (!heads) return false;
    ISOBIT_TRY(const bool leaves, read_leaves());
    if (!leaves || !check_heads()) return false;
    std::shared_ptr<const Log> log;
    if (limits_.rules.logged) {
      ISOBIT_TRY(auto grown, read_log());
      if (!grown) return false;
      log = std::make_shared<const Log>(*std::move(grown));
    }
    take_over(std::move(log));
    return true;
  }

 private:
  // From `known`, a record that ends at `end`, to the end of the file. None where that record is not there.
  Expected<std::optional<Bytes>> read_tail(std::string_view name, const Bytes& known, uint64_t end) const {
    ISOBIT_TRY(const ReadFile file, ReadFile::open(front_.folder_ / name));
    if (file.size() < end || file.size() > limits_.file_bytes(name)) return std::nullopt;
    Bytes tail(static_cast<size_t>(file.size() - end) + known.size());
    ISOBIT_TRY(const size_t got, file.read_at(end - known.size(), tail));
    tail.resize(got);
    if (got < known.size() || !std::equal(known.begin(), known.end(), tail.begin())) return std::nullopt;
    tail.erase(tail.begin(), tail.begin() + static_cast<std::ptrdiff_t>(known.size()));
    return tail;
  }

  Expected<bool> read_heads() {
    const uint64_t end = reader_.covered_->heads_bytes;
    ISOBIT_TRY(const auto tail, read_tail(kHeadsFile, encode_record(verify::encode(reader_.heads_.back())), end));
    if (!tail) return false;
    RecordCursor records(*tail, verify::kMaxLeafBytes);
    while (const auto payload = records.next()) {
      const auto head = verify::decode_head(*payload, "head");
      if (!head) return false;
      heads_.push_back(*head);
    }
    now_.heads_bytes = end + records.good_bytes();
    return true;
  }

  // As far as the new heads cover.
  Expected<bool> read_leaves() {
    const verify::Transcript& before = reader_.transcript_;
    const uint64_t covered = reader_.covered_->tree.size(), end = reader_.covered_->transcript_bytes;
    const uint64_t wanted = heads_.empty() ? covered : heads_.back().tree.size;
    ISOBIT_TRY(const auto tail,
               read_tail(kTranscriptFile, encode_record(verify::encode(before.leaf(covered - 1))), end));
    if (!tail) return false;
    RecordCursor records(*tail, verify::kMaxLeafBytes);
    for (uint64_t index = covered; index < wanted; ++index) {
      const auto payload = records.next();
      if (!payload) return false;
      const auto leaf = verify::decode_leaf(*payload, limits_.rules, "leaf");
      if (!leaf || !before.fits(*leaf, index)) return false;
      if (index < before.size() && before.leaf(index) != *leaf) return false;
      leaves_.push_back(*leaf);
    }
    now_.transcript_bytes = end + records.good_bytes();
    return true;
  }

  bool check_heads() {
    now_.tree = reader_.covered_->tree;
    for (const verify::SignedHead& head : heads_) {
      const uint64_t size = now_.tree.size();
      if (head.tree.size <= size || head.tree.size - first_new() > leaves_.size()) return false;
      for (uint64_t i = size; i < head.tree.size; ++i) {
        now_.tree.append(commit::leaf_hash(verify::encode(leaves_[i - first_new()])));
      }
      if (now_.tree.root() != head.tree.root || !verify::verify_head(head, reader_.engagement_)) return false;
    }
    return true;
  }
  uint64_t first_new() const { return reader_.covered_->tree.size(); }

  // The segments of the steps that are covered now.
  Expected<std::optional<Log>> read_log() const {
    ISOBIT_TRY(ReadFile file, ReadFile::open(front_.folder_ / kLogFile));
    LogIndex index = reader_.log_->index;
    const auto steps_of = [&](uint64_t leaves) { return std::min(leaves - 1, limits_.rules.steps); };
    index.cut(std::min(index.segments(), steps_of(first_new())));
    LogScanner scanner = LogScanner::go_on(file, std::move(index));
    while (scanner.index().segments() < steps_of(now_.tree.size())) {
      ISOBIT_TRY(const bool whole, scanner.skip());
      if (!whole) return std::nullopt;
    }
    return Log{std::move(file), scanner.index()};
  }

  void take_over(std::shared_ptr<const Log> log) {
    for (uint64_t i = reader_.transcript_.size(); i < now_.tree.size(); ++i) {
      ISOBIT_CHECK(reader_.transcript_.append(leaves_[i - first_new()]).has_value());
    }
    reader_.heads_.insert(reader_.heads_.end(), heads_.begin(), heads_.end());
    reader_.checkpoints_ = checkpoints_in(front_.listing_);
    if (log) reader_.log_ = std::move(log);
    reader_.covered_ = std::move(now_);
  }

  BundleReader& reader_;
  const BundleFront& front_;
  const RunLimits& limits_;
  std::vector<verify::SignedHead> heads_;
  std::vector<verify::Leaf> leaves_;  // from first_new() on
  BundleReader::Covered now_;
};

Expected<bool> BundleReader::read_on(const BundleFront& front, const RunLimits& limits) {
  auto taken = BundleContinuer(*this, front, limits).run();
  if (!taken && taken.error().code == ErrorCode::kUnreadable) return false;  // a file is missing or shorter now
  return taken;
}

}  // namespace isobit::bundle
