// Writes every example of every operator that ONNX has as a model of its own, for other programs to open.
//
//   export_dump FOLDER
//
// Each example becomes FOLDER/NNN: model.onnx, input_I.npy and output_I.npy in the model's order, inputs.txt with the
// names of the inputs, a line each, and op.txt with the operator and the element type of its real operands. Examples
// that are not written (onnx/exporters) are left out.
#include <cstdio>
#include <string>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/formats/npy.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/onnx/encode.h"
#include "isobit/onnx/export.h"
#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit {
namespace {

Status write_tensors(const fs::path& folder, const char* stem, const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    ISOBIT_RETURN_IF_ERROR(formats::write_npy(folder / text_of(stem, "_", i, ".npy"), tensors[i]));
  }
  return {};
}

Status dump(const fs::path& folder, const runtime::OperatorCase& c, const runtime::OneOperator& one, DType dtype,
            const onnx::Model& model) {
  ThreadPool pool(1);
  ISOBIT_RETURN_IF_ERROR(make_folder(folder));
  std::vector<Tensor> inputs;
  std::string names;
  for (const onnx::ValueDef& input : model.graph.inputs) {
    names += input.name + "\n";
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      if (one.graph.value(one.graph.inputs()[i]).name == input.name) inputs.push_back(one.feeds[i]);
    }
  }
  ISOBIT_RETURN_IF_ERROR(write_tensors(folder, "input", inputs));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(folder / "inputs.txt", as_bytes(names)));
  ISOBIT_RETURN_IF_ERROR(write_tensors(folder, "output", one.run({kernels::best_isa(), &pool})));
  ISOBIT_RETURN_IF_ERROR(onnx::write_model(folder / "model.onnx", model));
  return write_file_durably(folder / "op.txt", as_bytes(text_of(c.op, " ", name_of(dtype), "\n")));
}

Status dump_all(const fs::path& folder) {
  int written = 0;
  for (const runtime::OperatorCase& c : runtime::operator_cases()) {
    const graph::OpDef& def = *graph::find_op(c.op);
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      if (dtype == DType::kFloat64 && (!def.any_real_type || def.runs_graphs)) continue;
      const runtime::OneOperator one(c, dtype);
      const auto model = onnx::export_model(one.graph, {});
      if (!model) continue;
      std::string name = text_of(++written);
      name.insert(0, name.size() < 3 ? 3 - name.size() : 0, '0');
      ISOBIT_RETURN_IF_ERROR(dump(folder / name, c, one, dtype, *model));
    }
  }
  std::printf("%d\n", written);
  return {};
}

}  // namespace
}  // namespace isobit

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const isobit::Status done = isobit::dump_all(argv[1]);
  if (!done) std::fprintf(stderr, "export_dump: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
