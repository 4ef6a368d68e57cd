// Fourier transforms, window functions and the matrix of mel filters (isobit/graph/expansions/spectrum.h).
#include "isobit/graph/expansions/spectrum.h"

#include "isobit/base/text.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

namespace expansions = graph::expansions;

// A number that the expansion has to know: the constant behind input i.
Expected<std::optional<int64_t>> known(const Conversion& c, int i, const char* name) {
  if (!c.has(i)) return std::optional<int64_t>();
  const auto values = c.integers(c.in(i));
  if (!values || values->size() != 1) return c.error(text_of("'", name, "' has to be known before the run"));
  return std::optional<int64_t>(values->front());
}

// The axis was an attribute, with another default, up to opset 19.
Expected<Operands> dft(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::DftArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.dft_length, known(c, 1, "dft_length"));
  if (c.opset() < 20) {
    ISOBIT_TRY(a.axis, c.integer("axis", 1));
  } else {
    ISOBIT_TRY(const auto axis, known(c, 2, "axis"));
    a.axis = axis.value_or(-2);
  }
  ISOBIT_TRY(const int64_t inverse, c.integer("inverse", 0));
  ISOBIT_TRY(const int64_t onesided, c.integer("onesided", 0));
  a.inverse = inverse != 0;
  a.onesided = onesided != 0;
  a.most_bytes = c.importer().bytes_left();
  return c.expand([&](graph::Graph& g) { return expansions::dft(g, a); });
}

Expected<Operands> stft(Conversion& c) {
  for (int i = 0; i < 2; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  expansions::StftArguments a;
  a.name = c.base_name();
  a.signal = c.id(0), a.window = c.id(2);
  ISOBIT_TRY(const auto step, known(c, 1, "frame_step"));
  a.frame_step = step.value_or(0);
  ISOBIT_TRY(a.frame_length, known(c, 3, "frame_length"));
  ISOBIT_TRY(const int64_t onesided, c.integer("onesided", 1));
  a.onesided = onesided != 0;
  a.most_bytes = c.importer().bytes_left();
  return c.expand([&](graph::Graph& g) { return expansions::stft(g, a); });
}

Convert window(expansions::WindowFunction function) {
  return [function](Conversion& c) -> Expected<Operands> {
    ISOBIT_RETURN_IF_ERROR(c.expect(0));
    expansions::WindowFunctionArguments a;
    a.name = c.base_name();
    a.function = function;
    a.size = c.id(0);
    ISOBIT_TRY(const int64_t periodic, c.integer("periodic", 1));
    a.periodic = periodic != 0;
    ISOBIT_TRY(a.output, c.type("output_datatype", DType::kFloat32));
    a.most_bytes = c.importer().bytes_left();
    return c.expand([&](graph::Graph& g) { return expansions::window_function(g, a); });
  };
}

Expected<Operands> mel_weight_matrix(Conversion& c) {
  for (int i = 0; i < 5; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  expansions::MelWeightMatrixArguments a;
  a.name = c.base_name();
  a.num_mel_bins = c.id(0), a.dft_length = c.id(1), a.sample_rate = c.id(2);
  a.lower_edge_hertz = c.id(3), a.upper_edge_hertz = c.id(4);
  ISOBIT_TRY(a.output, c.type("output_datatype", DType::kFloat32));
  a.most_bytes = c.importer().bytes_left();
  return c.expand([&](graph::Graph& g) { return expansions::mel_weight_matrix(g, a); });
}

}  // namespace

void add_spectrum_rows(Table& table) {
  table.own("DFT", dft);
  table.own("STFT", stft);
  table.own("HannWindow", window(expansions::WindowFunction::kHann));
  table.own("HammingWindow", window(expansions::WindowFunction::kHamming));
  table.own("BlackmanWindow", window(expansions::WindowFunction::kBlackman));
  table.own("MelWeightMatrix", mel_weight_matrix);
}

}  // namespace isobit::onnx
