// Inner products.
#include "isobit/base/text.h"
#include "isobit/graph/expansions/convolution.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

namespace expansions = graph::expansions;

constexpr const char* kUnknown = "the ranks of both inputs have to be known before the run";

// A vector is a row on the left and a column on the right; what it becomes has no axis for it.
Expected<Operands> matmul(Conversion& c) {
  for (int i = 0; i < 2; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  Operand a = c.in(0), b = c.in(1);
  std::vector<int64_t> removed;
  if (c.has_rank(b) && c.dims(b).size() == 1) {
    ISOBIT_TRY(b, c.inner("Unsqueeze", {b}, {{"axes", std::vector<int64_t>{1}}}, "column"));
    removed.push_back(-1);
  }
  if (c.has_rank(a) && c.dims(a).size() == 1) {
    ISOBIT_TRY(a, c.inner("Unsqueeze", {a}, {{"axes", std::vector<int64_t>{0}}}, "row"));
    removed.push_back(-2);
  }
  if (removed.empty()) return c.last("MatMul", {a, b}, {});
  ISOBIT_TRY(Operand product, c.inner("MatMul", {a, b}, {}, "product"));
  return c.last("Squeeze", {product}, {{"axes", removed}});
}

template <Expected<std::vector<graph::ValueId>> (*kExpansion)(graph::Graph&, const expansions::ConvolutionArguments&)>
Expected<Operands> convolution(Conversion& c) {
  for (int i = 0; i < 2; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  ISOBIT_TRY(graph::Attributes attributes, c.same_attributes());
  if (!c.has_rank(c.in(0)) || !c.has_rank(c.in(1))) return c.error(kUnknown);
  const expansions::ConvolutionArguments a = {c.output_name(0), c.id(0), c.id(1), c.id(2), std::move(attributes)};
  return c.expand([&](graph::Graph& g) { return kExpansion(g, a); });
}

// (x, weights, offset, bias, mask)
Expected<Operands> deform_conv(Conversion& c) {
  for (int i = 0; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  ISOBIT_TRY(graph::Attributes attributes, c.same_attributes());
  const expansions::DeformConvArguments a = {c.output_name(0),     c.id(0), c.id(1), c.id(2), c.id(3), c.id(4),
                                             std::move(attributes)};
  return c.expand([&](graph::Graph& g) { return expansions::deform_conv(g, a); });
}

struct GemmForm {
  int64_t trans_a, trans_b;
  double alpha, beta;
};

// alpha * (A B) + beta * C, each line rounded, where C is not one number for each column or a factor is not 1.
Expected<Operands> gemm_in_steps(Conversion& c, const GemmForm& form) {
  const DType type = c.dtype(c.in(0));
  if (!NumberTypes::contains(type)) return c.error(text_of("input 0 is ", name_of(type), ", expected numbers"));
  const auto scaled = [&](Operand x, double factor, const char* what) -> Expected<Operand> {
    if (factor == 1) return x;
    return c.inner("Mul", {x, c.scalar(factor, type, what)}, {}, text_of(what, "_times"));
  };
  const graph::Attributes attributes = {{"transA", form.trans_a}, {"transB", form.trans_b}};
  const bool adds = c.has(2) && form.beta != 0;
  if (!adds && form.alpha == 1) return c.last("Gemm", {c.in(0), c.in(1)}, attributes);
  ISOBIT_TRY(Operand product, c.inner("Gemm", {c.in(0), c.in(1)}, attributes, "product"));
  if (!adds) return c.last("Mul", {product, c.scalar(form.alpha, type, "alpha")}, {});
  ISOBIT_TRY(product, scaled(product, form.alpha, "alpha"));
  ISOBIT_TRY(Operand added, scaled(c.in(2), form.beta, "beta"));
  return c.last("Add", {product, added}, {});
}

Expected<Operands> gemm(Conversion& c) {
  for (int i = 0; i < 2; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  GemmForm form = {};
  ISOBIT_TRY(form.trans_a, c.integer("transA", 0));
  ISOBIT_TRY(form.trans_b, c.integer("transB", 0));
  ISOBIT_TRY(form.alpha, c.real("alpha", 1));
  ISOBIT_TRY(form.beta, c.real("beta", 1));
  if (!c.has_rank(c.in(0)) || !c.has_rank(c.in(1))) return c.error(kUnknown);
  const auto& b = c.dims(c.in(1));
  const bool is_matrix = b.size() == 2;
  const int64_t columns = !is_matrix ? -1 : form.trans_b != 0 ? b[0] : b[1];
  const bool by_column = !c.has(2) || (c.has_rank(c.in(2)) && c.dims(c.in(2)) == std::vector<int64_t>{columns});
  if (!by_column || form.alpha != 1 || form.beta != 1) return gemm_in_steps(c, form);
  Operands inputs = {c.in(0), c.in(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  graph::Attributes attributes;
  if (form.trans_a != 0) attributes.set("transA", int64_t{1});
  if (form.trans_b != 0) attributes.set("transB", int64_t{1});
  return c.last("Gemm", std::move(inputs), std::move(attributes));
}

}  // namespace

void add_linear_rows(Table& table) {
  table.own("MatMul", matmul).to("MatMul");
  table.own("Gemm", gemm).to("Gemm");
  table.own("Conv", convolution<expansions::conv>).to("Conv");
  table.own("ConvTranspose", convolution<expansions::conv_transpose>).to("ConvTranspose");
  table.own("DeformConv", deform_conv).to("isobit.DeformIm2Col");
  table.same("Det");
}

}  // namespace isobit::onnx
