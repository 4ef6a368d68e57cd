#include "tests/attacks/parts.h"

#include <algorithm>

#include "isobit/bundle/layout.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/record_file.h"
#include "isobit/run/job_root.h"
#include "tests/attacks/bytes.h"

namespace isobit::attacks {
namespace {

std::vector<Bytes> payloads(const Bytes& file, size_t header, size_t largest) {
  std::vector<Bytes> out;
  bundle::RecordCursor records(ByteView(file).subspan(header), largest);
  while (const auto payload = records.next()) out.emplace_back(payload->begin(), payload->end());
  return out;
}

Bytes log_header() {
  ByteWriter writer;
  writer.text("isobit.log_file");
  writer.u32(1);
  return writer.take();
}

Bytes record_file(Bytes header, const std::vector<Bytes>& records) {
  for (const Bytes& r : records) insert(header, header.size(), bundle::encode_record(r));
  return header;
}

verify::Engagement engagement_of(const Honest& honest) {
  return verify::decode_engagement(honest.files.at("engagement"), "engagement").value();
}

Bytes heads_over(const Honest& honest, const Parts& parts) {
  const verify::EngagementTerms terms = engagement_of(honest).terms;
  std::vector<Bytes> records;
  for (const uint64_t size : parts.heads) {
    commit::MerkleTree tree;
    for (size_t i = 0; i < std::min<size_t>(size, parts.leaves.size()); ++i) {
      tree.append(commit::leaf_hash(parts.leaves[i]));
    }
    records.push_back(verify::encode(verify::sign_head({size, tree.root()}, terms, honest.trainer)));
  }
  return record_file(bundle::heads_header(), records);
}

}  // namespace

Parts parts_of(const Honest& honest) {
  Parts parts;
  parts.header = bundle::transcript_header(run::transcript_rules(honest.job));
  parts.leaves = payloads(honest.files.at("transcript"), parts.header.size(), verify::kMaxLeafBytes);
  if (const auto log = honest.files.find("log/segments"); log != honest.files.end()) {
    parts.segments = payloads(log->second, log_header().size(), 1 << 28);
  }
  const auto heads = bundle::decode_heads_file(honest.files.at("heads"), "heads").value();
  for (const verify::SignedHead& head : heads.heads) parts.heads.push_back(head.tree.size);
  return parts;
}

verify::Leaf leaf_of(const Honest& honest, const Bytes& bytes) {
  return verify::decode_leaf(bytes, run::transcript_rules(honest.job), "leaf").value();
}

void sign_manifest(const Honest& honest, Files& files, const Parts* parts) {
  bundle::Manifest manifest = bundle::decode_manifest(honest.files.at("manifest.json"), "manifest").value();
  manifest.files.clear();
  for (const auto& [name, data] : files) {
    if (name != "manifest.json" && name != "manifest.sig") manifest.files[name] = {data.size(), commit::sha256(data)};
  }
  if (parts != nullptr) {
    commit::MerkleTree tree;
    for (const Bytes& leaf : parts->leaves) tree.append(commit::leaf_hash(leaf));
    manifest.transcript_root = tree.sized_root().commitment("isobit.transcript", 1);
  }
  files["manifest.json"] = bundle::encode(manifest);
}

void sign_text(const Honest& honest, Files& files) {
  const verify::EngagementTerms terms = engagement_of(honest).terms;
  files["manifest.sig"] =
      bundle::encode(bundle::sign_manifest(files.at("manifest.json"), terms.job_root, terms.run_id, honest.trainer));
}

void put_together(const Honest& honest, const Parts& parts, Files& files) {
  files["transcript"] = record_file(parts.header, parts.leaves);
  if (!parts.segments.empty()) files["log/segments"] = record_file(log_header(), parts.segments);
  files["heads"] = heads_over(honest, parts);
  sign_manifest(honest, files, &parts);
  sign_text(honest, files);
}

}  // namespace isobit::attacks
