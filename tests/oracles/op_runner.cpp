// Runs small graphs that a script describes, so that another program can check their results and gradients.
//
//   op_runner --list                              every operator, one a line
//   op_runner --differentiable                    those that have a gradient
//   op_runner --platforms                         every platform of this machine, one a line
//   op_runner PLATFORM CASES.json IN.safetensors OUT.safetensors
//
// CASES is a list of
//   {"name": N, "inputs": [X, ...], "nodes": [{"op", "in", "out", "attributes"}, ...], "outputs": [Y, ...],
//    "weighted": Y, "wrt": [X, ...], "constants": [X, ...]}
// "constants" are inputs that become constants of the graph.
// An attribute that is a graph: {"inputs": [[X, dtype, [dims]], ...], "nodes": [...], "outputs": [...]}.
// IN holds "N/X" for every input and, with "weighted", "N/weights". OUT gets "N/Y" for every output and, with the loss
// sum(Y * weights), "N/grad/X" for every X of "wrt". The operators that ran, backward ones included, are printed.
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "isobit/base/text.h"
#include "isobit/formats/safetensors.h"
#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/op.h"
#include "isobit/platform/platform.h"
#include "isobit/runtime/executor.h"
#include "isobit/tensor/dtype_named.h"

namespace isobit {
namespace {

using graph::Attributes;
using graph::kNoValue;
using graph::ValueId;
using nlohmann::json;
using Tensors = std::map<std::string, Tensor>;

Expected<std::shared_ptr<const graph::Graph>> read_graph(const json& description);

Expected<Attributes> read_attributes(const json& items) {
  Attributes attributes;
  for (const auto& [name, value] : items.items()) {
    if (value.is_number_integer())
      attributes.set(name, value.get<int64_t>());
    else if (value.is_number())
      attributes.set(name, value.get<double>());
    else if (value.is_string())
      attributes.set(name, value.get<std::string>());
    else if (value.is_array() && !value.empty() && value[0].is_number_float())
      attributes.set(name, value.get<std::vector<double>>());
    else if (value.is_array())
      attributes.set(name, value.get<std::vector<int64_t>>());
    else if (value.is_object()) {
      ISOBIT_TRY(auto graph, read_graph(value));
      attributes.set(name, std::move(graph));
    } else
      return unreadable(text_of("attribute '", name, "': found ", value.dump(), ", expected a number, text or list"));
  }
  return attributes;
}

Expected<ValueId> find_value(const std::map<std::string, ValueId>& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return unreadable(text_of("value '", name, "' is not known"));
  return found->second;
}

Status add_described_node(graph::Graph& g, std::map<std::string, ValueId>& values, const json& node) {
  std::vector<ValueId> inputs;
  for (const std::string input : node.at("in")) {
    ISOBIT_TRY(const ValueId id, input.empty() ? Expected<ValueId>(kNoValue) : find_value(values, input));
    inputs.push_back(id);
  }
  ISOBIT_TRY(Attributes attributes, read_attributes(node.at("attributes")));
  const auto names = node.at("out").get<std::vector<std::string>>();
  ISOBIT_TRY(const auto outputs, g.add_node(node.at("op"), inputs, std::move(attributes), names));
  for (size_t i = 0; i < names.size(); ++i) values[names[i]] = outputs[i];
  return {};
}

Expected<std::shared_ptr<const graph::Graph>> read_graph(const json& description) {
  graph::Graph g;
  std::map<std::string, ValueId> values;
  for (const json& input : description.at("inputs")) {
    const auto name = input.at(0).get<std::string>();
    const auto dtype = dtype_named(input.at(1).get<std::string>());
    if (!dtype) return unreadable(text_of("found ", input.at(1).dump(), ", expected the name of a type"));
    values[name] = g.add_input(name, *dtype, input.at(2).get<std::vector<int64_t>>());
  }
  for (const json& node : description.at("nodes")) ISOBIT_RETURN_IF_ERROR(add_described_node(g, values, node));
  for (const std::string output : description.at("outputs")) {
    ISOBIT_TRY(const ValueId id, find_value(values, output));
    g.add_output(id);
  }
  return std::make_shared<const graph::Graph>(std::move(g));
}

// One case as a graph.
class Case {
 public:
  Case(const json& description, const Tensors& tensors)
      : json_(description), tensors_(tensors), name_(description.at("name")) {}

  Status run(platform::Engine& engine, std::vector<NamedTensor>& out, std::set<std::string>& ops) {
    const Status status = build_and_run(engine, out, ops);
    if (!status) return unreadable(text_of("case '", name_, "': ", status.error().message));
    return {};
  }

 private:
  Status build_and_run(platform::Engine& engine, std::vector<NamedTensor>& out, std::set<std::string>& ops) {
    const auto constants = json_.value("constants", std::set<std::string>{});
    for (const std::string input : json_.at("inputs")) {
      ISOBIT_TRY(const Tensor tensor, find_tensor(input));
      if (constants.contains(input)) {
        values_[input] = g_.add_initializer(input, tensor);
        continue;
      }
      const ValueId id = g_.add_input(input, tensor.dtype(), tensor.shape().dims());
      feeds_.emplace_back(id, tensor);
      values_[input] = id;
    }
    for (const json& node : json_.at("nodes")) {
      ISOBIT_RETURN_IF_ERROR(add_described_node(g_, values_, node));
    }
    std::vector<std::string> names;
    for (const std::string output : json_.at("outputs")) {
      ISOBIT_TRY(const ValueId id, find_value(values_, output));
      g_.add_output(id);
      names.push_back(output);
    }
    if (json_.contains("weighted")) ISOBIT_RETURN_IF_ERROR(add_gradients(names));

    for (const graph::Node& node : g_.nodes()) ops.insert(node.op);
    ISOBIT_TRY(const platform::Context context, engine.context_for(platform::arithmetic_of("ordered-1")));
    ISOBIT_TRY(std::vector<Tensor> results, runtime::Executor(g_).run(context.kernels(), std::move(feeds_)));
    for (size_t i = 0; i < names.size(); ++i) out.push_back({text_of(name_, "/", names[i]), results[i]});
    return {};
  }

  Status add_gradients(std::vector<std::string>& names) {
    ISOBIT_TRY(const ValueId y, find_value(values_, json_.at("weighted")));
    ISOBIT_TRY(const Tensor weights, find_tensor("weights"));
    const ValueId product = g_.emit("Mul", {y, g_.add_initializer("weights", weights)}, {}, "weighted");
    const ValueId loss = g_.emit("ReduceSum", {product}, {{"keepdims", int64_t{0}}}, "loss");
    std::vector<ValueId> targets;
    for (const std::string input : json_.at("wrt")) {
      ISOBIT_TRY(const ValueId id, find_value(values_, input));
      targets.push_back(id);
      names.push_back("grad/" + input);
    }
    ISOBIT_TRY(const std::vector<ValueId> grads, graph::append_gradients(g_, loss, targets));
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i] == kNoValue) return unreadable(text_of("no gradient reaches '", g_.value(targets[i]).name, "'"));
      g_.add_output(grads[i]);
    }
    return {};
  }

  Expected<Tensor> find_tensor(const std::string& name) const {
    const auto found = tensors_.find(text_of(name_, "/", name));
    if (found == tensors_.end()) return unreadable(text_of("tensor '", name, "' is missing"));
    return found->second;
  }

  const json& json_;
  const Tensors& tensors_;
  std::string name_;
  graph::Graph g_;
  runtime::Executor::Feeds feeds_;
  std::map<std::string, ValueId> values_;
};

Status run_cases(const std::vector<std::string>& args) {
  ISOBIT_TRY(const platform::Platform platform, platform::parse_platform(args[0]));
  platform::Engine engine(platform);
  std::ifstream file(args[1]);
  const json cases = json::parse(file);
  ISOBIT_TRY(const formats::Safetensors in, formats::read_safetensors(args[2]));
  Tensors tensors;
  for (const NamedTensor& t : in.tensors) tensors[t.name] = t.tensor;
  formats::Safetensors out;
  std::set<std::string> ops;
  for (const json& one : cases) ISOBIT_RETURN_IF_ERROR(Case(one, tensors).run(engine, out.tensors, ops));
  ISOBIT_RETURN_IF_ERROR(formats::write_safetensors(args[3], out));
  for (const std::string& op : ops) std::printf("%s\n", op.c_str());
  return {};
}

Status run(const std::vector<std::string>& args) {
  if (args.size() == 1 && (args[0] == "--list" || args[0] == "--differentiable")) {
    for (const std::string& op : graph::op_names()) {
      if (args[0] == "--list" || graph::find_gradient(op) != nullptr) std::printf("%s\n", op.c_str());
    }
    return {};
  }
  if (args.size() == 1 && args[0] == "--platforms") {
    for (const auto& platform : platform::available_platforms()) std::printf("%s\n", platform.text().c_str());
    return {};
  }
  if (args.size() == 4) return run_cases(args);
  return usage_error(
      "usage: op_runner --list | --differentiable | --platforms | PLATFORM CASES.json IN.safetensors OUT.safetensors");
}

}  // namespace
}  // namespace isobit

int main(int argc, char** argv) {
  try {
    const isobit::Status status = isobit::run({argv + 1, argv + argc});
    if (status) return 0;
    std::fprintf(stderr, "op_runner: %s\n", status.error().message.c_str());
    return static_cast<int>(status.error().code);
  } catch (const nlohmann::json::exception& e) {
    std::fprintf(stderr, "op_runner: %s\n", e.what());
    return static_cast<int>(isobit::ErrorCode::kUnreadable);
  }
}
