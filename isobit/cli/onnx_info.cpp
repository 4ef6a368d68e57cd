#include "isobit/cli/onnx_info.h"

#include "isobit/base/text.h"
#include "isobit/cli/json_text.h"
#include "isobit/onnx/import.h"

namespace isobit::cli {

namespace {

using Json = nlohmann::ordered_json;

Json describe(const std::vector<onnx::ValueDef>& values) {
  Json list = Json::array();
  for (const onnx::ValueDef& v : values) {
    Json one = {{"name", v.name}, {"dtype", onnx::element_name(v.type.element)}, {"shape", nullptr}};
    if (v.type.kind != onnx::TypeDef::Kind::kTensor) one["dtype"] = v.type.text();
    if (v.type.has_shape) one["shape"] = Json::array();
    for (const onnx::DimDef& d : v.type.dims) {
      one["shape"].push_back(d.extent >= 0 ? Json(d.extent) : d.name.empty() ? Json() : Json(d.name));
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::string domain_text(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

Status import_as(const onnx::Model& model, onnx::Form form, uint64_t max_memory) {
  onnx::ImportOptions options;
  options.form.form = form;
  options.max_bytes = onnx::max_import_bytes(max_memory, model.bytes);
  if (const auto imported = onnx::import_model(model, options); !imported) return tl::unexpected(imported.error());
  return {};
}

// What stands in the way of importing it: all operators that there are not, or else the first error as the file has it,
// and whether a job could train it all the same.
void add_support(const onnx::Model& model, uint64_t max_memory, Json& j, Console& console) {
  Json& list = j["unsupported"] = Json::array();
  for (const onnx::Unsupported& u : onnx::unsupported_operators(model)) {
    list.push_back({{"node", u.node},
                    {"operator", u.op},
                    {"domain", domain_text(u.domain)},
                    {"opset", u.opset},
                    {"reason", u.reason}});
    console.line(text_of("unsupported   node '", u.node, "' (", u.op, ", opset ", u.opset, "): ", u.reason));
  }
  bool for_training = false;
  if (list.empty()) {
    const Status as_written = import_as(model, onnx::Form::kAsWritten, max_memory);
    for_training = as_written || import_as(model, onnx::Form::kTraining, max_memory);
    if (as_written) {
      console.line("supported     every node becomes operators of isobit");
    } else {
      j["unsupported"].push_back({{"reason", as_written.error().message}});
      console.line(text_of("unsupported   ", as_written.error().message));
      if (for_training)
        console.line("supported     in training: as the network of a job, every node becomes operators");
    }
  }
  j["supported"] = j["unsupported"].empty();
  j["supported_in_training"] = for_training;
}

}  // namespace

Expected<int> describe_onnx(const std::string& file, const LimitOptions& options, Console& console) {
  ISOBIT_TRY(const run::Limits limits, limits_of(options));
  Deadline deadline(options, console);
  ISOBIT_TRY(const onnx::Model model, onnx::load_model(file, onnx::load_options_within(limits.max_memory)));
  const onnx::Summary summary = onnx::summary_of(model);
  const auto show = [&](const char* label, const std::string& value) { console.line(text_of(label, value)); };
  Json opsets = Json::object();
  std::string opset_text;
  for (const onnx::OpsetDef& o : model.opsets) {
    opsets[domain_text(o.domain)] = o.version;
    opset_text += text_of(opset_text.empty() ? "" : ", ", domain_text(o.domain), " ", o.version);
  }
  show("model         ", model.graph.name);
  show("producer      ", text_of(model.producer, " ", model.producer_version));
  show("versions      ", text_of("IR ", model.ir_version, "; opset ", opset_text));
  const auto inputs = onnx::needed_inputs(model);
  for (const onnx::ValueDef& v : inputs) show("input         ", text_of(v.name, " ", v.type.text()));
  for (const onnx::ValueDef& v : model.graph.outputs) show("output        ", text_of(v.name, " ", v.type.text()));
  Json operators = Json::object();
  auto& counts = operators.get_ref<Json::object_t&>();
  for (const auto& [op, count] : summary.operators) {
    counts.emplace_back(op, count);  // the names differ: nobody need look for each
    show("operator      ", text_of(op, " ", count));
  }
  show("parameters    ", text_of(summary.parameters, " numbers; ", summary.tensors, " tensors of ",
                                 human_bytes(static_cast<uint64_t>(summary.bytes)), " in all"));
  Json j = {{"graph", model.graph.name},
            {"producer", model.producer},
            {"producer_version", model.producer_version},
            {"ir_version", model.ir_version},
            {"opsets", opsets},
            {"inputs", describe(inputs)},
            {"outputs", describe(model.graph.outputs)},
            {"nodes", summary.nodes},
            {"functions", summary.functions},
            {"operators", operators},
            {"parameters", summary.parameters},
            {"tensors", summary.tensors},
            {"tensor_bytes", summary.bytes}};
  add_support(model, limits.max_memory, j, console);
  deadline.finish();
  console.document(json_text(j));
  return kAgreed;
}

}  // namespace isobit::cli
