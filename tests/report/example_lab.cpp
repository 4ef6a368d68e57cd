// Writes a lab for the tests of the report: example_lab network OPERATORS FILE, example_lab hostile FILE, or
// example_lab measured MODEL.onnx FILE PLATFORM..., which runs the model on platforms of this machine.
//
// The network is invented, a chain of residual blocks; so are its twelve platforms, whose kernels differ in ways that
// real ones do: by library, core type, threads and algorithm, at some convolutions only. Rectifiers let some
// differences vanish. Tensors are kept where classes fork.
#include <cstdio>
#include <cstdlib>
#include <set>

#include "isobit/base/text.h"
#include "isobit/base/thread_pool.h"
#include "isobit/lab/explain/part_run.h"
#include "isobit/lab/measure/subject.h"
#include "isobit/lab/records/lab_file.h"
#include "isobit/onnx/import.h"

namespace isobit::lab::records {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 30;

uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u + b + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

Subject subject_of(const std::string& model) {
  return {SubjectKind::kInference, model, commit::Digest{1, 2, 3}, commit::Digest{4, 5, 6}, "batch 1, seed 1"};
}

std::vector<PlatformRecord> platforms() {
  const auto make = [](const char* name, const char* engine, const char* version, const char* core,
                       const char* threads) {
    return PlatformRecord{
        name,
        engine,
        {{"cpu", "Invented CPU 9000"}, {"core type", core}, {"threads", threads}, {"version", version}},
        {"avx2", "fma", "sse2"},
        8};
  };
  return {make("ordered@avx2/1t", "ordered", "0.1", "avx2", "1"),
          make("ordered@portable/2t", "ordered", "0.1", "portable", "2"),
          make("openblas@haswell/1t", "openblas", "0.3.21", "haswell", "1"),
          make("openblas@haswell/2t", "openblas", "0.3.21", "haswell", "2"),
          make("openblas@skylakex/1t", "openblas", "0.3.21", "skylakex", "1"),
          make("openblas@skylakex/2t", "openblas", "0.3.21", "skylakex", "2"),
          make("openblas@haswell/1t+winograd4", "openblas", "0.3.21", "haswell", "1"),
          make("onednn@avx2/1t", "onednn", "2.6", "avx2", "1"),
          make("onednn@avx512_core/1t", "onednn", "2.6", "avx512_core", "1"),
          make("pytorch/1t", "pytorch", "2.9.1", "avx512", "1"),
          make("onnxruntime/1t", "onnxruntime", "1.23", "avx512", "1"),
          make("openvino/1t", "openvino", "2025.4", "avx512", "1")};
}

std::vector<GraphNode> residual_chain(int operators) {
  std::vector<GraphNode> nodes;
  std::string trunk = "input", skip = trunk;
  for (int i = 0; static_cast<int>(nodes.size()) + 2 < operators; ++i) {
    const std::string block = text_of("layer", 1 + i / 12, ".", i % 12 / 2, ".");
    const std::string number = text_of(i % 2 + 1, ".", i);
    const auto add = [&](const std::string& op, const std::string& name, std::vector<std::string> inputs) {
      if (static_cast<int>(nodes.size()) + 2 >= operators) return;
      trunk = text_of("/", block, name, number, "/", op, "_output_0");
      nodes.push_back({op, text_of("/", block, name, number, "/", op), std::move(inputs), {trunk}});
    };
    add("Conv", "conv", {trunk, text_of(block, "conv", number, ".weight")});
    add("BatchNormalization", "bn",
        {trunk, text_of(block, "bn", number, ".weight"), text_of(block, "bn", number, ".bias")});
    if (i % 2 == 1) {
      add("Add", "add", {trunk, skip});
      skip = trunk;
    }
    add("Relu", "act", {trunk});
  }
  nodes.push_back({"Gemm", "/fc/Gemm", {trunk, "fc.weight", "fc.bias"}, {"logits"}});
  nodes.push_back({"Softmax", "/prob/Softmax", {"logits"}, {"probabilities"}});
  return nodes;
}

// What decides the bits of a product on a platform: two that share it agree on equal inputs.
uint64_t order_of(const PlatformRecord& p, const std::string& op, size_t node) {
  const std::string& core = p.fields.at("core type");
  if (op == "Conv" && p.name.ends_with("+winograd4") && node % 3 == 0) return 11;
  if (p.engine == "ordered") return 1;
  if (p.engine == "onednn" && node < 40) return 2;  // small products: one kernel for both instruction sets
  uint64_t order = 0;
  for (const char c : p.engine + core) order = order * 31 + static_cast<uint64_t>(c);
  if (p.engine == "openblas" && node % 5 == 0) order += p.fields.at("threads") == "2";  // long sums are split
  return order;
}

std::string kernel_of(const PlatformRecord& p, const std::string& op) {
  if (op != "Conv" && op != "Gemm") return "";
  if (p.engine == "onednn") return "jit:" + p.fields.at("core type");
  if (p.engine == "openblas")
    return p.name.ends_with("+winograd4") && op == "Conv" ? "winograd4" : "sgemm_" + p.fields.at("core type");
  return "";
}

Bytes data_of(size_t node, uint64_t state) {
  Bytes bytes;
  for (uint64_t i = 0; i < 32; ++i) {
    const float base = static_cast<float>(mixed(node, i) >> 40) / (1 << 20) - 8.0f;
    const uint64_t wobble = state == 0 ? 0 : mixed(state, i) % 4;
    const float x = base * (1.0f + static_cast<float>(wobble) * static_cast<float>(1 + node / 16) / (1 << 23));
    const auto* from = reinterpret_cast<const uint8_t*>(&x);
    bytes.insert(bytes.end(), from, from + sizeof x);
  }
  return bytes;
}

Status network(int operators, const fs::path& path) {
  const std::vector<GraphNode> graph = residual_chain(operators);
  const std::vector<PlatformRecord> all = platforms();
  const Subject subject = subject_of(text_of("resnet-like-", operators, ".onnx"));
  std::vector<RunRecord> runs;
  for (const PlatformRecord& p : all) runs.push_back({subject, p, 0, true, 0.01, "", {}});
  std::map<std::string, std::vector<uint64_t>> states;  // of each value, of each platform; 0: that of our own kernels
  std::vector<Bytes> kept;
  size_t convolutions = 0;
  for (size_t n = 0; n < graph.size(); ++n) {
    std::vector<uint64_t>& state = states[graph[n].outputs[0]];
    std::set<uint64_t> classes;
    for (size_t p = 0; p < all.size(); ++p) {
      uint64_t here = 0;
      for (const std::string& input : graph[n].inputs) {
        const auto made = states.find(input);
        if (made != states.end() && made->second.size() == all.size() && made->second[p] != 0) {
          here = mixed(here, made->second[p]);
        }
      }
      if ((graph[n].op == "Conv" && convolutions % 3 == 2) || graph[n].op == "Gemm") {
        const uint64_t order = order_of(all[p], graph[n].op, n);
        if (order != 1) here = mixed(here, order);
      }
      if (graph[n].op == "Relu" && here % 5 == 0) here = 0;  // the elements that differed were negative
      state.push_back(here);
      classes.insert(here);
    }
    convolutions += graph[n].op == "Conv";
    for (size_t p = 0; p < all.size(); ++p) {
      const Bytes bytes = data_of(n, state[p]);
      const bool is_output = n + 1 == graph.size();
      // One engine fuses: what a batch normalisation takes is no value of its own there.
      if (all[p].engine == "openvino" && graph[n].op == "Conv") continue;
      runs[p].values.push_back({graph[n].outputs[0],
                                graph[n].op,
                                "float32",
                                {1, 32},
                                hash_of(bytes),
                                kernel_of(all[p], graph[n].op),
                                is_output,
                                0});
      if (classes.size() > 1) kept.push_back(bytes);
    }
  }
  // In memory first: each tensor is a transaction, and would be one on the disk.
  ISOBIT_TRY(LabFile lab, LabFile::in_memory("example"));
  for (RunRecord& run : runs) ISOBIT_RETURN_IF_ERROR(lab.add_run(run));
  RunRecord failed{subject, {"tensorflow/1t", "tensorflow", {{"version", "2.20"}}, {}, 8}, 0, true, 0, "", {}};
  failed.error = "no converter for BatchNormalization with running statistics as outputs";
  ISOBIT_RETURN_IF_ERROR(lab.add_run(failed));
  ISOBIT_RETURN_IF_ERROR(lab.set_graph(subject, graph));
  for (const Bytes& bytes : kept) ISOBIT_RETURN_IF_ERROR(lab.keep(bytes, kMost).map([](bool) {}));
  return lab.export_to(path);
}

// Every text is one that a browser would run if it were taken for markup or script.
Status hostile(const fs::path& path) {
  const std::string evil =
      "</script></style></textarea></svg><script>window.pwned=1</script><img src=x onerror=\"window.pwned=2\">"
      "<svg onload=window.pwned=3>'\"`${window.pwned=4}--><a href=javascript:window.pwned=5>\xe2\x80\xa8\xe2\x80\xae";
  const Subject subject{SubjectKind::kInference, evil, commit::Digest{1}, commit::Digest{2}, evil};
  ISOBIT_TRY(LabFile lab, LabFile::create(path));
  std::vector<GraphNode> graph;
  for (int n = 0; n < 5; ++n) {
    graph.push_back({evil, text_of(evil, n), {n == 0 ? evil : text_of(n - 1, evil)}, {text_of(n, evil)}});
  }
  graph.push_back({"__proto__", "constructor", {text_of(4, evil)}, {"__proto__"}});
  graph.push_back({"constructor", "hasOwnProperty", {"__proto__"}, {"toString"}});
  for (int p = 0; p < 4; ++p) {
    RunRecord run{
        subject, {text_of(evil, p), evil, {{evil, text_of(evil, p)}, {"__proto__", evil}}, {evil}, 2}, 0, true, 0, "",
        {}};
    for (size_t n = 0; n < graph.size(); ++n) {
      const Bytes bytes(16, static_cast<uint8_t>(n > 2 ? p : 0));
      ISOBIT_RETURN_IF_ERROR(lab.keep(bytes, kMost).map([](bool) {}));
      run.values.push_back({graph[n].outputs[0],
                            graph[n].op,
                            p == 3 ? evil : "float32",
                            {4},
                            hash_of(bytes),
                            evil,
                            n + 1 == graph.size(),
                            0});
    }
    ISOBIT_RETURN_IF_ERROR(lab.add_run(run));
  }
  RunRecord failed{subject, {"failed", evil, {}, {}, 0}, 0, false, 0, evil, {}};
  ISOBIT_RETURN_IF_ERROR(lab.add_run(failed));
  return lab.set_graph(subject, graph);
}

// Inputs are drawn with seed 1. Tensors of values that fork, and of what their nodes read, are kept.
Status measured(const fs::path& model_file, const fs::path& path, const std::vector<std::string>& platforms) {
  ISOBIT_TRY(const onnx::Model model, onnx::load_model(model_file));
  InferenceRequest request;
  request.model = model_file;
  ThreadPool pool(1);
  ISOBIT_TRY(const measure::MeasuredModel opened, measure::open_model(request, pool));
  const Subject& subject = opened.subject;
  std::vector<GraphNode> graph;
  std::vector<std::string> names;
  for (const onnx::NodeDef& node : model.graph.nodes) {
    graph.push_back({node.op, node.name, node.inputs, node.outputs});
    names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  }
  ISOBIT_TRY(LabFile lab, LabFile::in_memory("measured"));
  for (const std::string& text : platforms) {
    ISOBIT_TRY(const platform::Platform p, platform::parse_platform(text));
    ISOBIT_TRY(const explain::Feeds values, explain::values_in_child(request, model, names, p, "float32", kMost));
    RunRecord run{subject, {text, p.library, {{"arithmetic", "float32"}}, {}, 0}, 0, true, 0, "", {}};
    for (const GraphNode& node : graph) {
      const Tensor& tensor = values.at(node.outputs[0]);
      const ByteView data{static_cast<const uint8_t*>(tensor.raw()), tensor.bytes()};
      run.values.push_back({node.outputs[0], node.op, name_of(tensor.dtype()), tensor.shape().dims(), hash_of(data), "",
                            &node == &graph.back(), 0});
      ISOBIT_RETURN_IF_ERROR(lab.keep(data, kMost).map([](bool) {}));
    }
    ISOBIT_RETURN_IF_ERROR(lab.add_run(run));
  }
  ISOBIT_RETURN_IF_ERROR(lab.set_graph(subject, graph));
  return lab.export_to(path);
}

}  // namespace
}  // namespace isobit::lab::records

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  isobit::Status made;
  if (kind == "network" && argc == 4)
    made = isobit::lab::records::network(std::atoi(argv[2]), argv[3]);
  else if (kind == "hostile" && argc == 3)
    made = isobit::lab::records::hostile(argv[2]);
  else if (kind == "measured" && argc > 4)
    made = isobit::lab::records::measured(argv[2], argv[3], {argv + 4, argv + argc});
  else
    return std::fputs("usage: example_lab network OPERATORS FILE | hostile FILE | measured MODEL FILE PLATFORM...\n",
                      stderr),
           2;
  if (!made) std::fprintf(stderr, "example_lab: %s\n", made.error().message.c_str());
  return made ? 0 : 1;
}
