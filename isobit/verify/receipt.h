// What a server says of one inference, signed: this network, on these inputs, under this arithmetic, gives these
// outputs. Whoever has model and inputs can compute the same bits anywhere and compare; who has neither the time nor
// the memory for that has elements shown (dispute/spot_check.h). Byte layout: docs/formats/receipt.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/base/thread_pool.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/signature.h"
#include "isobit/tensor/tensor.h"

namespace isobit::verify {

inline constexpr std::string_view kReceiptTag = "isobit.receipt";
inline constexpr uint64_t kMaxReceiptBytes = 1 << 20;
inline constexpr size_t kMaxReceiptTensors = 4096;  // inputs, and outputs
inline constexpr size_t kMaxReceiptName = 1 << 12;
inline constexpr size_t kMinChallenge = 16, kMaxChallenge = 64;

// An input or an output. The root is that of commit/tensor_root.h under its name, split 1: it binds name, type, shape
// and every element, and so does `isobit run` print it.
struct ReceiptTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> dims;
  commit::Digest root{};
  bool operator==(const ReceiptTensor&) const = default;

  static ReceiptTensor of(const NamedTensor& tensor, ThreadPool& pool);
};

// What is computed, before anybody has: whoever computes the same thing has the same digest.
struct Computation {
  commit::Digest files{};                // of the model's file and those with its tensors (model_files_digest)
  commit::Digest graph{};                // of the network for these inputs (graph_tree.h), with all its parameters
  std::optional<commit::Digest> schema;  // of its values (train::inference_schema); none where they follow from data
  std::string arithmetic;                // "ordered-1": the version is part of the name
  std::vector<ReceiptTensor> inputs;
  std::vector<std::string> outputs;  // their names
  bool operator==(const Computation&) const = default;
  commit::Digest digest() const;
};

struct InferenceReceipt {
  Computation of;
  std::vector<ReceiptTensor> outputs;   // under the names that the computation has
  std::optional<commit::Digest> trace;  // of all values (TraceRoot of the computation's digest and step 1)
  Bytes challenge;                      // by whoever asked, or drawn by the server: no two receipts are one
  std::string made_by;                  // the program, for people
  commit::PublicKey server;
  commit::Signature signature;
  bool operator==(const InferenceReceipt&) const = default;

  // In place of any other signature.
  void sign(const commit::SecretKey& key);
  // Names this receipt, whoever signed the like of it: what messages about it are bound to.
  commit::RunId id() const;
};

// kRejected unless the signature is valid for the key that the receipt names. Whose key that is, its reader must know.
Status verify_receipt(const InferenceReceipt& receipt);

// Of the files of a model in this order: the model's own, whose name does not enter, then those that hold its tensors,
// by the names that the model has for them.
struct ModelFile {
  std::string name;  // "" for the model's own
  commit::Digest sha256{};
};
commit::Digest model_files_digest(const std::vector<ModelFile>& files);

// The trace root of an inference, from the tensor roots of all its values in the order of its schema.
commit::Digest inference_trace_root(const Computation& of, const std::vector<commit::Digest>& tensor_roots);

Bytes encode(const InferenceReceipt& receipt);
// Accepts exactly what encode() writes of at most kMaxReceiptBytes; kUnreadable otherwise. Checks no signature.
Expected<InferenceReceipt> decode_receipt(ByteView data, const std::string& what);

}  // namespace isobit::verify
