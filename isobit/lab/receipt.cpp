#include "isobit/lab/receipt.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/dispute/inference.h"
#include "isobit/lab/measure/watched_files.h"
#include "isobit/verify/graph_tree.h"
#include "isobit/verify/schema.h"

namespace isobit::lab {
namespace {

using commit::hex_of;
using dispute::is_checkable;

Expected<commit::Digest> digest_of_model(const fs::path& model, const std::vector<std::string>& external) {
  std::vector<verify::ModelFile> files;
  const auto add = [&](const std::string& name, const fs::path& path) -> Status {
    ISOBIT_TRY(const commit::Digest digest, measure::sha256_of_file(path));
    files.push_back({name, digest});
    return {};
  };
  ISOBIT_RETURN_IF_ERROR(add("", model));
  for (const std::string& name : external) ISOBIT_RETURN_IF_ERROR(add(name, model.parent_path() / name));
  return verify::model_files_digest(files);
}

Status check_names(const verify::Computation& of) {
  const auto too_long = [](const std::string& name) { return name.size() > verify::kMaxReceiptName; };
  const bool long_names = std::ranges::any_of(of.outputs, too_long) ||
                          std::ranges::any_of(of.inputs, too_long, &verify::ReceiptTensor::name);
  const size_t most = std::max(of.inputs.size(), of.outputs.size());
  if (!long_names && most <= verify::kMaxReceiptTensors) return {};
  return unreadable(text_of("the model has ", most,
                            " inputs or outputs, or one with a long name; a receipt has at most ",
                            verify::kMaxReceiptTensors, " of at most ", verify::kMaxReceiptName, " bytes"));
}

ReceiptFinding differs(ReceiptPart part, std::string what, std::string claimed, std::string found, std::string reason) {
  return {part, std::move(what), std::move(claimed), std::move(found), std::move(reason)};
}

std::string type_of(const verify::ReceiptTensor& t) { return text_of(name_of(t.dtype), " ", Shape(t.dims).text()); }

// The first tensor that is another one: by name, then type and shape, then bits.
std::optional<ReceiptFinding> compare(ReceiptPart part, const std::vector<verify::ReceiptTensor>& claimed,
                                      const std::vector<verify::ReceiptTensor>& own) {
  const char* kind = part == ReceiptPart::kInput ? "input" : "output";
  for (size_t i = 0; i < claimed.size() && i < own.size(); ++i) {
    const verify::ReceiptTensor &a = claimed[i], &b = own[i];
    if (a == b) continue;
    const std::string what = text_of(kind, " '", a.name, "'");
    if (a.name != b.name) return differs(part, what, a.name, b.name, text_of(kind, " ", i, " has another name"));
    if (a.dtype != b.dtype || a.dims != b.dims) {
      return differs(part, what, type_of(a), type_of(b), text_of(what, " is of another type or shape"));
    }
    return differs(part, what, hex_of(a.root), hex_of(b.root), text_of(what, " has other bits"));
  }
  if (claimed.size() == own.size()) return std::nullopt;
  return differs(part, text_of(kind, "s"), text_of(claimed.size()), text_of(own.size()),
                 text_of("the receipt is of another number of ", kind, "s"));
}

}  // namespace

const char* name_of(ReceiptPart part) {
  switch (part) {
    case ReceiptPart::kSignature:
      return "signature";
    case ReceiptPart::kServer:
      return "server";
    case ReceiptPart::kChallenge:
      return "challenge";
    case ReceiptPart::kArithmetic:
      return "arithmetic";
    case ReceiptPart::kModel:
      return "model";
    case ReceiptPart::kInput:
      return "input";
    case ReceiptPart::kOutput:
      return "output";
    case ReceiptPart::kTrace:
      return "trace";
  }
  return "?";
}

Expected<ComputationReady> ComputationReady::prepare(const InferenceRequest& request, platform::Engine& engine) {
  ISOBIT_TRY(const platform::Arithmetic* arithmetic, platform::named_arithmetic(request.arithmetic));
  if (!is_checkable(*arithmetic)) {
    return usage_error(text_of("--arithmetic: ", request.arithmetic,
                               " promises no bits, so nobody could check a receipt; expected ordered-1 or correct-1"));
  }
  ISOBIT_TRY(ReadyInference ready, ReadyInference::prepare(request, engine));
  ComputationReady prepared(std::move(ready));
  const graph::Graph& graph = prepared.ready_.graph();
  verify::Computation& of = prepared.computation_;
  ISOBIT_TRY(of.files, digest_of_model(request.model, prepared.ready_.external()));
  of.graph = verify::graph_root(graph, engine.pool());
  of.arithmetic = request.arithmetic;
  for (const NamedTensor& input : prepared.ready_.inputs()) {
    of.inputs.push_back(verify::ReceiptTensor::of(input, engine.pool()));
  }
  for (const graph::ValueId id : graph.outputs()) of.outputs.push_back(graph.value(id).name);
  ISOBIT_RETURN_IF_ERROR(check_names(of));
  prepared.step_ = std::make_unique<train::StepGraph>(train::inference_step(graph));
  if (prepared.step_->disputable) {
    prepared.schema_ = train::inference_schema(*prepared.step_);
    of.schema = verify::schema_root(prepared.schema_);
  }
  return prepared;
}

Expected<Receipted> infer_with_receipt(const InferenceRequest& request, const ReceiptTerms& terms,
                                       const commit::SecretKey& key, platform::Engine& engine, runtime::Stage* stage) {
  ISOBIT_TRY(ComputationReady prepared, ComputationReady::prepare(request, engine));
  Receipted done;
  done.receipt.of = prepared.computation();
  std::optional<run::StepTracer> tracer;
  if (terms.trace) {
    if (!done.receipt.of.schema) {
      return unreadable(text_of(request.model.string(),
                                ": its values have no schema (shapes follow from data, a node "
                                "has graphs within it, or an output is a constant), so that a receipt can have no "
                                "trace of them; leave --trace out"));
    }
    tracer.emplace(prepared.step(), prepared.schema(), std::set<uint64_t>{});
    tracer->take_inputs(prepared.ready().inputs(), engine.pool());
  }
  ISOBIT_TRY(done.inference, infer(request, prepared.ready(), tracer ? &*tracer : nullptr, stage));
  for (const NamedTensor& output : done.inference.outputs) {
    done.receipt.outputs.push_back(verify::ReceiptTensor::of(output, engine.pool()));
  }
  if (tracer) {
    ISOBIT_CHECK(!tracer->missing());
    std::vector<commit::Digest> roots;
    for (const commit::TensorRoot& root : tracer->take_roots()) roots.push_back(root.digest());
    done.receipt.trace = verify::inference_trace_root(done.receipt.of, roots);
  }
  done.receipt.challenge = terms.challenge;
  done.receipt.made_by = terms.made_by;
  done.receipt.sign(key);
  return done;
}

std::optional<ReceiptFinding> check_receipt(const verify::InferenceReceipt& receipt, const ReceiptWanted& wanted) {
  if (wanted.server && receipt.server != *wanted.server) {
    return differs(ReceiptPart::kServer, "server", hex_of(receipt.server), hex_of(*wanted.server),
                   "the receipt is by another server's key than the one that is trusted");
  }
  if (const Status is_signed = verify::verify_receipt(receipt); !is_signed) {
    return differs(ReceiptPart::kSignature, "signature", "", "", is_signed.error().message);
  }
  if (wanted.challenge && receipt.challenge != *wanted.challenge) {
    return differs(ReceiptPart::kChallenge, "challenge", to_hex(receipt.challenge), to_hex(*wanted.challenge),
                   "the receipt answers another challenge: it was made for another request");
  }
  const platform::Arithmetic* named = platform::find_arithmetic(receipt.of.arithmetic);
  if (named == nullptr || !is_checkable(*named)) {
    return differs(ReceiptPart::kArithmetic, "arithmetic", receipt.of.arithmetic, "",
                   "the receipt names an arithmetic that this isobit does not have, or that promises no bits");
  }
  if (wanted.arithmetic && platform::find_arithmetic(*wanted.arithmetic) != named) {
    return differs(ReceiptPart::kArithmetic, "arithmetic", receipt.of.arithmetic, *wanted.arithmetic,
                   "the receipt is of another arithmetic than the one that is wanted");
  }
  return std::nullopt;
}

std::optional<ReceiptFinding> check_computation(const verify::InferenceReceipt& receipt,
                                                const verify::Computation& own) {
  const verify::Computation& of = receipt.of;
  // Inputs first: the graph is made for their shapes, so that other inputs may make another graph of the same model.
  if (of.files != own.files) {
    return differs(ReceiptPart::kModel, "files", hex_of(of.files), hex_of(own.files),
                   of.graph == own.graph ? "the receipt names other files, although they have the same network"
                                         : "the receipt is of another model");
  }
  if (auto finding = compare(ReceiptPart::kInput, of.inputs, own.inputs)) return finding;
  if (of.graph != own.graph) {
    return differs(ReceiptPart::kModel, "graph", hex_of(of.graph), hex_of(own.graph),
                   "the receipt names another network than the one that is in these files");
  }
  if (of.schema != own.schema || of.outputs != own.outputs) {
    return differs(ReceiptPart::kModel, "values", of.schema ? hex_of(*of.schema) : "none",
                   own.schema ? hex_of(*own.schema) : "none",
                   "the receipt names other values or outputs than those of this network");
  }
  if (of.digest() != own.digest()) {
    return differs(ReceiptPart::kModel, "computation", hex_of(of.digest()), hex_of(own.digest()),
                   "the receipt is of another computation");
  }
  return std::nullopt;
}

std::optional<ReceiptFinding> check_given_outputs(const verify::InferenceReceipt& receipt,
                                                  const std::vector<NamedTensor>& given, ThreadPool& pool) {
  std::vector<bool> named(receipt.outputs.size(), false);
  const auto take = [&](size_t i, const NamedTensor& t) {
    named[i] = true;
    return compare(ReceiptPart::kOutput, {receipt.outputs[i]},
                   {verify::ReceiptTensor::of({receipt.outputs[i].name, t.tensor}, pool)});
  };
  for (const NamedTensor& t : given) {
    if (t.name.empty()) continue;
    const auto found = std::ranges::find(receipt.of.outputs, t.name);
    if (found == receipt.of.outputs.end()) {
      return differs(ReceiptPart::kOutput, text_of("output '", t.name, "'"), "", t.name,
                     text_of("the receipt is of no output '", t.name, "'"));
    }
    if (auto finding = take(static_cast<size_t>(found - receipt.of.outputs.begin()), t)) return finding;
  }
  for (const NamedTensor& t : given) {
    if (!t.name.empty()) continue;
    const auto free = std::ranges::find(named, false);
    if (free == named.end()) {
      return differs(ReceiptPart::kOutput, "outputs", text_of(named.size()), text_of(given.size()),
                     "more outputs were given than the receipt is of");
    }
    if (auto finding = take(static_cast<size_t>(free - named.begin()), t)) return finding;
  }
  return std::nullopt;
}

Expected<ReceiptAudit> audit_receipt(const verify::InferenceReceipt& receipt, InferenceRequest request,
                                     platform::Engine& engine) {
  request.arithmetic = receipt.of.arithmetic;
  ISOBIT_TRY(ComputationReady prepared, ComputationReady::prepare(request, engine));
  ReceiptAudit audit;
  audit.finding = check_computation(receipt, prepared.computation());
  if (audit.finding) return audit;
  std::optional<run::StepTracer> tracer;
  if (receipt.trace) {
    tracer.emplace(prepared.step(), prepared.schema(), std::set<uint64_t>{});
    tracer->take_inputs(prepared.ready().inputs(), engine.pool());
  }
  ISOBIT_TRY(const ReadyInference::Run run, prepared.ready().run(tracer ? &*tracer : nullptr));
  audit.ran = true;
  audit.seconds = run.seconds;
  std::vector<verify::ReceiptTensor> outputs;
  for (const NamedTensor& t : run.outputs) outputs.push_back(verify::ReceiptTensor::of(t, engine.pool()));
  audit.finding = compare(ReceiptPart::kOutput, receipt.outputs, outputs);
  if (audit.finding || !tracer) return audit;
  std::vector<commit::Digest> roots;
  for (const commit::TensorRoot& root : tracer->take_roots()) roots.push_back(root.digest());
  const commit::Digest trace = verify::inference_trace_root(receipt.of, roots);
  if (trace != *receipt.trace) {
    audit.finding = differs(ReceiptPart::kTrace, "trace", hex_of(*receipt.trace), hex_of(trace),
                            "the outputs are right, and some value before them is not what the model makes");
  }
  return audit;
}

}  // namespace isobit::lab
