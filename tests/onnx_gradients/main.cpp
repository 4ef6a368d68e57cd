// Gradients of a network in float64, for a program that computes the same in another way (scripts/real_networks).
//
//   onnx_gradients MODEL.onnx IN.safetensors OUT.safetensors [--wrt FILE] [--platform P]
//   onnx_gradients --parameters MODEL.onnx
//
// What stands in IN and OUT: gradients.h.
//   --wrt         one name a line: the values to differentiate by (default: every parameter of the file)
//   --platform    where to run (default: ordered)
//   --parameters  prints the names of the parameters instead, one a line
#include <cstdio>
#include <fstream>

#include "isobit/base/printable.h"
#include "isobit/onnx/import.h"
#include "tests/onnx_gradients/gradients.h"

namespace {

using namespace isobit;

Expected<std::vector<std::string>> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) return unreadable(path + ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) return usage_error(path + ": has no name in it");
  return lines;
}

Status print_parameters(const std::string& file) {
  ISOBIT_TRY(const onnx::Model model, onnx::load_model(file));
  ISOBIT_TRY(const onnx::Imported imported, onnx::import_model(model));
  for (const graph::ValueId id : imported.parameters) std::printf("%s\n", imported.graph.value(id).name.c_str());
  return {};
}

struct Options {
  std::vector<std::string> files;
  std::string wrt, platform = "ordered";
  bool parameters = false;
};

Expected<Options> parse(const std::vector<std::string>& words) {
  Options o;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--parameters") {
      o.parameters = true;
    } else if (word == "--wrt" || word == "--platform") {
      if (i + 1 == words.size()) return usage_error(word + " needs a value");
      (word == "--wrt" ? o.wrt : o.platform) = words[++i];
    } else if (word.starts_with("--")) {
      return usage_error("there is no option '" + word + "'");
    } else {
      o.files.push_back(word);
    }
  }
  if (o.files.size() == (o.parameters ? 1U : 3U)) return o;
  return usage_error(
      "usage: onnx_gradients MODEL.onnx IN.safetensors OUT.safetensors [--wrt FILE] [--platform P] | "
      "onnx_gradients --parameters MODEL.onnx");
}

Status run(const std::vector<std::string>& words) {
  ISOBIT_TRY(const Options o, parse(words));
  if (o.parameters) return print_parameters(o.files[0]);
  ISOBIT_TRY(const platform::Platform platform, platform::parse_platform(o.platform));
  platform::Engine engine(platform);
  gradients::Request request;
  request.model = o.files[0];
  if (!o.wrt.empty()) {
    ISOBIT_TRY(request.with_respect_to, read_lines(o.wrt));
  }
  ISOBIT_TRY(formats::Safetensors in, formats::read_safetensors(o.files[1]));
  request.tensors = std::move(in.tensors);
  ISOBIT_TRY(const formats::Safetensors out, gradients::compute(request, engine));
  return formats::write_safetensors(o.files[2], out);
}

}  // namespace

int main(int argc, char** argv) {
  const Status done = run({argv + 1, argv + argc});
  if (done) return 0;
  std::fprintf(stderr, "onnx_gradients: %s\n", printable(done.error().message).c_str());
  return static_cast<int>(done.error().code);
}
