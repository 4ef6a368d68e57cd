#include "isobit/verify/receipt.h"

#include <algorithm>
#include <set>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/verify/step_trace.h"
#include "isobit/verify/tensor_type.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kComputationTag = "isobit.computation", kSignedTag = "isobit.receipt.server",
                           kFilesTag = "isobit.model-files";
constexpr uint32_t kReceiptVersion = 1;
constexpr uint64_t kMaxArithmetic = 64, kMaxMadeBy = 100;

// Without the name.
void write_value(ByteWriter& w, const ReceiptTensor& t) {
  write_tensor_type(w, t.dtype, t.dims);
  w.fixed(t.root);
}

Expected<ReceiptTensor> read_value(ByteReader& r) {
  ISOBIT_TRY(TensorType type, read_tensor_type(r));
  ReceiptTensor t{"", type.dtype, std::move(type.dims), {}};
  ISOBIT_TRY(t.root, commit::read_digest(r, "root"));
  return t;
}

Expected<uint64_t> read_count(ByteReader& r, const char* field) {
  ISOBIT_TRY(const uint64_t count, r.u64(field));
  if (count > kMaxReceiptTensors) {
    return r.fail(field, text_of("found ", count, ", expected at most ", kMaxReceiptTensors));
  }
  return count;
}

void write_computation(ByteWriter& w, const Computation& c) {
  w.fixed(c.files);
  w.fixed(c.graph);
  commit::write_optional_digest(w, c.schema);
  w.text(c.arithmetic);
  w.u64(c.inputs.size());
  for (const ReceiptTensor& t : c.inputs) {
    w.text(t.name);
    write_value(w, t);
  }
  w.u64(c.outputs.size());
  for (const std::string& name : c.outputs) w.text(name);
}

Expected<Computation> read_computation(ByteReader& r) {
  Computation c;
  ISOBIT_TRY(c.files, commit::read_digest(r, "files"));
  ISOBIT_TRY(c.graph, commit::read_digest(r, "graph"));
  ISOBIT_TRY(c.schema, commit::read_optional_digest(r, "schema"));
  ISOBIT_TRY(c.arithmetic, r.text("arithmetic", kMaxArithmetic));
  ISOBIT_TRY(const uint64_t inputs, read_count(r, "inputs"));
  std::set<std::string> names;
  for (uint64_t i = 0; i < inputs; ++i) {
    ISOBIT_TRY(std::string name, r.text("input", kMaxReceiptName));
    ISOBIT_TRY(ReceiptTensor t, read_value(r));
    if (!names.insert(name).second) return r.fail("input", text_of("'", name, "' is there twice"));
    t.name = std::move(name);
    c.inputs.push_back(std::move(t));
  }
  ISOBIT_TRY(const uint64_t outputs, read_count(r, "outputs"));
  for (uint64_t i = 0; i < outputs; ++i) {
    ISOBIT_TRY(std::string name, r.text("output", kMaxReceiptName));
    c.outputs.push_back(std::move(name));
  }
  return c;
}

// Everything but the signature.
void write_claim(ByteWriter& w, const InferenceReceipt& receipt) {
  write_computation(w, receipt.of);
  for (const ReceiptTensor& t : receipt.outputs) write_value(w, t);
  commit::write_optional_digest(w, receipt.trace);
  w.bytes(receipt.challenge);
  w.text(receipt.made_by);
  w.fixed(receipt.server.bytes);
}

Bytes signed_bytes(const InferenceReceipt& receipt) {
  ByteWriter w;
  write_frame(w, kSignedTag, kReceiptVersion);
  write_claim(w, receipt);
  return w.take();
}

}  // namespace

ReceiptTensor ReceiptTensor::of(const NamedTensor& t, ThreadPool& pool) {
  return {t.name, t.tensor.dtype(), t.tensor.shape().dims(), commit::tensor_root(t.name, t.tensor, {}, pool).digest()};
}

commit::Digest Computation::digest() const {
  ByteWriter w;
  write_computation(w, *this);
  return commit::tagged_hash(kComputationTag, kReceiptVersion, w.view());
}

void InferenceReceipt::sign(const commit::SecretKey& key) {
  ISOBIT_CHECK(outputs.size() == of.outputs.size());
  server = key.public_key();
  signature = key.sign(signed_bytes(*this));
}

commit::RunId InferenceReceipt::id() const {
  const commit::Digest digest = commit::tagged_hash(kReceiptTag, kReceiptVersion, signed_bytes(*this));
  commit::RunId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

Status verify_receipt(const InferenceReceipt& receipt) {
  if (commit::verify(receipt.server, signed_bytes(receipt), receipt.signature)) return {};
  return rejected("receipt: field 'signature': is not valid for these words and the server's key that they name");
}

commit::Digest model_files_digest(const std::vector<ModelFile>& files) {
  ByteWriter w;
  w.u64(files.size());
  for (const ModelFile& file : files) {
    w.text(file.name);
    w.fixed(file.sha256);
  }
  return commit::tagged_hash(kFilesTag, kReceiptVersion, w.view());
}

commit::Digest inference_trace_root(const Computation& of, const std::vector<commit::Digest>& tensor_roots) {
  return TraceList{of.digest(), 1, tensor_roots, std::nullopt}.root().digest();
}

Bytes encode(const InferenceReceipt& receipt) {
  ISOBIT_CHECK(receipt.outputs.size() == receipt.of.outputs.size());
  ByteWriter w;
  write_frame(w, kReceiptTag, kReceiptVersion);
  write_claim(w, receipt);
  w.fixed(receipt.signature.bytes);
  return w.take();
}

Expected<InferenceReceipt> decode_receipt(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  if (data.size() > kMaxReceiptBytes) return r.fail("size", text_of("is over ", kMaxReceiptBytes, " bytes"));
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kReceiptTag, kReceiptVersion));
  InferenceReceipt receipt;
  ISOBIT_TRY(receipt.of, read_computation(r));
  for (const std::string& name : receipt.of.outputs) {
    ISOBIT_TRY(ReceiptTensor t, read_value(r));
    t.name = name;
    receipt.outputs.push_back(std::move(t));
  }
  ISOBIT_TRY(receipt.trace, commit::read_optional_digest(r, "trace"));
  if (receipt.trace && !receipt.of.schema) return r.fail("trace", "is of values that have no schema");
  ISOBIT_TRY(const ByteView challenge, r.bytes("challenge", kMaxChallenge));
  if (challenge.size() < kMinChallenge) {
    return r.fail("challenge",
                  text_of("has ", challenge.size(), " bytes, expected ", kMinChallenge, " to ", kMaxChallenge));
  }
  receipt.challenge.assign(challenge.begin(), challenge.end());
  ISOBIT_TRY(receipt.made_by, r.text("made_by", kMaxMadeBy));
  ISOBIT_TRY(receipt.server, commit::read_key(r, "server"));
  ISOBIT_TRY(receipt.signature, commit::read_signature(r, "signature"));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return receipt;
}

}  // namespace isobit::verify
