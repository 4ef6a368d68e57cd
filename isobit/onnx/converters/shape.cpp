// Operators that ask for shapes, and those that make tensors of numbers that are known.
#include <algorithm>
#include <cstring>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/onnx/conversion_internal.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

constexpr int64_t kMostMade = 1 << 14;  // elements of a constant that is made here

// The value that a Constant has: one of several attributes.
Expected<Operands> constant(Conversion& c) {
  if (c.attributes().size() != 1) return c.error("a constant has one attribute, its value");
  const AttributeDef& a = c.attributes().front();
  Tensor tensor;
  if (const auto* t = std::get_if<TensorDef>(&a.value); t != nullptr && a.name == "value") {
    if (!t->tensor.defined()) {
      return Operands{c.frame().unusable(c.output_name(0),
                                         text_of("is ", element_name(t->element), ", which isobit does not have"))};
    }
    tensor = t->tensor;
  } else if (const auto* f = std::get_if<float>(&a.value); f != nullptr && a.name == "value_float") {
    tensor = Tensor::scalar(*f);
  } else if (const auto* i = std::get_if<int64_t>(&a.value); i != nullptr && a.name == "value_int") {
    tensor = Tensor::scalar(*i);
  } else if (const auto* fs = std::get_if<std::vector<float>>(&a.value); fs != nullptr && a.name == "value_floats") {
    tensor = Tensor::of<float>(Shape{static_cast<int64_t>(fs->size())}, *fs);
  } else if (const auto* is = std::get_if<std::vector<int64_t>>(&a.value); is != nullptr && a.name == "value_ints") {
    tensor = Tensor::of<int64_t>(Shape{static_cast<int64_t>(is->size())}, *is);
  } else if (a.name == "value_string" || a.name == "value_strings") {
    return Operands{c.frame().unusable(c.output_name(0), "is text, which isobit does not have")};
  } else {
    return c.error(text_of("attribute '", a.name, "' is no value of a constant that isobit has"));
  }
  return Operands{c.frame().constant(c.output_name(0), std::move(tensor))};
}

// Dimensions from start to end, clipped to what there is; a constant where they are known.
Expected<Operands> shape(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(int64_t start, c.integer("start", 0));
  ISOBIT_TRY(int64_t end, c.integer("end", INT64_MAX));
  if (c.has_rank(c.in(0))) {
    const auto& dims = c.dims(c.in(0));
    const auto rank = static_cast<int64_t>(dims.size());
    const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t first = place(start), last = std::max(place(end), first);
    const std::vector<int64_t> part(dims.begin() + first, dims.begin() + last);
    if (std::all_of(part.begin(), part.end(), [](int64_t d) { return d >= 0; })) {
      const auto n = static_cast<int64_t>(part.size());
      return Operands{c.frame().constant(c.output_name(0), Tensor::of<int64_t>(Shape{n}, part))};
    }
  }
  return same_as_onnx(c);
}

Expected<Operands> size(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  if (!c.has_rank(c.in(0)) || !c.is_static(c.in(0))) return same_as_onnx(c);
  const auto elements = checked_elements(c.dims(c.in(0)), c.dtype(c.in(0)), UINT64_MAX);
  if (!elements) return c.error(elements.error());
  return Operands{c.frame().constant(c.output_name(0), Tensor::scalar(*elements))};
}

// Small ones are made here, of any type: a node is computed with in types that are.
Expected<Operands> constant_of_shape(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  Tensor value = Tensor::scalar(0.0f);
  if (const AttributeDef* a = c.attribute("value")) {
    const auto* t = std::get_if<TensorDef>(&a->value);
    if (t == nullptr || !t->tensor.defined() || t->tensor.elements() != 1) {
      return c.error("attribute 'value' is no tensor of one element of a type that isobit has");
    }
    value = t->tensor;
  }
  if (const auto dims = c.integers(c.in(0))) {
    const auto extents = checked_extents(*dims, value.dtype(), INT64_MAX);
    if (!extents) return c.error(extents.error());
    if (*extents <= kMostMade && dims->size() <= graph::kMostAxes) {
      if (const Status counted = c.importer().count_bytes(static_cast<uint64_t>(*extents) * size_of(value.dtype()));
          !counted) {
        return c.error(counted.error());
      }
      Tensor made(value.dtype(), Shape(*dims));
      const size_t bytes = size_of(value.dtype());
      for (int64_t i = 0; i < made.elements(); ++i) {
        std::memcpy(static_cast<uint8_t*>(made.raw()) + static_cast<size_t>(i) * bytes, value.raw(), bytes);
      }
      return Operands{c.frame().constant(c.output_name(0), std::move(made))};
    }
  }
  return same_as_onnx(c);
}

}  // namespace

void add_shape_rows(Table& table) {
  table.own("Constant", constant).moves();
  table.own("Shape", shape).to("Shape").moves();
  table.own("Size", size).to("Size").moves();
  table.own("ConstantOfShape", constant_of_shape).to("ConstantOfShape").moves().list(0, "shape");
  table.same("Range");
  table.same("EyeLike").moves().type_in("dtype");
}

}  // namespace isobit::onnx
