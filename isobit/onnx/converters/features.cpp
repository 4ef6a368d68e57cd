// Operators of ai.onnx.ml that prepare features (isobit/graph/expansions/features.h).
#include "isobit/graph/expansions/features.h"

#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

namespace expansions = graph::expansions;

Expected<Operands> scaler(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::ScalerArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.offset, c.real_list("offset"));
  ISOBIT_TRY(a.scale, c.real_list("scale"));
  return c.expand([&](graph::Graph& g) { return expansions::scaler(g, a); });
}

Expected<Operands> normalizer(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::NormalizerArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.norm, c.text("norm", "MAX"));
  return c.expand([&](graph::Graph& g) { return expansions::normalizer(g, a); });
}

Expected<Operands> binarizer(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::BinarizerArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.threshold, c.real("threshold", 0));
  return c.expand([&](graph::Graph& g) { return expansions::binarizer(g, a); });
}

Expected<Operands> array_feature_extractor(Conversion& c) {
  for (int i = 0; i < 2; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  expansions::ArrayFeatureExtractorArguments a;
  a.name = c.base_name();
  a.x = c.id(0), a.indices = c.id(1);
  return c.expand([&](graph::Graph& g) { return expansions::array_feature_extractor(g, a); });
}

// One of the lists that hold keys, values or the default, as a tensor.
Expected<Tensor> label_list(const Conversion& c, const std::string& stem) {
  ISOBIT_TRY(const Tensor tensor, c.tensor(stem + "_tensor"));
  if (tensor.defined()) return tensor;
  if (c.has_attribute(stem + "_strings")) return c.error(text_of("'", stem, "_strings': isobit has no text"));
  if (c.has_attribute(stem + "_int64s")) {
    ISOBIT_TRY(const auto values, c.integer_list(stem + "_int64s"));
    return Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
  }
  ISOBIT_TRY(const auto values, c.real_list(stem + "_floats"));
  const std::vector<float> floats(values.begin(), values.end());
  return Tensor::of<float>(Shape{static_cast<int64_t>(floats.size())}, floats);
}

Expected<Operands> label_encoder(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::LabelEncoderArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.keys, label_list(c, "keys"));
  ISOBIT_TRY(a.values, label_list(c, "values"));
  ISOBIT_TRY(a.default_value, c.tensor("default_tensor"));
  if (!a.default_value.defined() && a.values.dtype() == DType::kInt64) {
    ISOBIT_TRY(const int64_t value, c.integer("default_int64", -1));
    a.default_value = Tensor::scalar(value);
  } else if (!a.default_value.defined() && a.values.dtype() == DType::kFloat32) {
    ISOBIT_TRY(const double value, c.real("default_float", -0.0));
    a.default_value = Tensor::scalar(static_cast<float>(value));
  } else if (!a.default_value.defined()) {
    return c.error("attribute 'default_tensor' is missing");
  }
  return c.expand([&](graph::Graph& g) { return expansions::label_encoder(g, a); });
}

// The values are floats, or whole numbers for elements that are.
Expected<Operands> imputer(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::ImputerArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  if (c.dtype(c.in(0)) == DType::kInt64) {
    ISOBIT_TRY(a.imputed_integers, c.integer_list("imputed_value_int64s"));
    ISOBIT_TRY(a.replaced_integer, c.integer("replaced_value_int64", 0));
  } else {
    ISOBIT_TRY(a.imputed_values, c.real_list("imputed_value_floats"));
    ISOBIT_TRY(a.replaced_value, c.real("replaced_value_float", 0));
  }
  return c.expand([&](graph::Graph& g) { return expansions::imputer(g, a); });
}

Expected<Operands> one_hot_encoder(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(const auto texts, c.text_list("cats_strings"));
  if (!texts.empty()) return c.error("categories are text, which isobit does not have");
  ISOBIT_TRY(const int64_t zeros, c.integer("zeros", 1));
  if (zeros == 0) return c.error("'zeros' is 0: an element of no category would be an error of the run");
  expansions::OneHotEncoderArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.categories, c.integer_list("cats_int64s"));
  return c.expand([&](graph::Graph& g) { return expansions::one_hot_encoder(g, a); });
}

// 'inputdimensions' has to repeat what the inputs say of themselves.
Expected<Operands> feature_vectorizer(Conversion& c) {
  ISOBIT_TRY(const auto widths, c.integer_list("inputdimensions"));
  if (!widths.empty() && static_cast<int>(widths.size()) != c.input_count()) {
    return c.error(text_of("'inputdimensions' has ", widths.size(), " widths for ", c.input_count(), " inputs"));
  }
  expansions::FeatureVectorizerArguments a;
  a.name = c.base_name();
  for (int i = 0; i < c.input_count(); ++i) {
    ISOBIT_RETURN_IF_ERROR(c.expect(i));
    const int64_t width = widths.empty() ? -1 : widths[static_cast<size_t>(i)];
    const int64_t found = c.has_rank(c.in(i)) && !c.dims(c.in(i)).empty() ? c.dims(c.in(i)).back() : -1;
    if (width >= 0 && found >= 0 && width != found) {
      return c.error(text_of("'inputdimensions' says ", width, " for input ", i, ", which has ", found, " columns"));
    }
    a.inputs.push_back(c.id(i));
  }
  return c.expand([&](graph::Graph& g) { return expansions::feature_vectorizer(g, a); });
}

}  // namespace

void add_feature_rows(Table& table) {
  table.own("Scaler", scaler, kMl);
  table.own("Normalizer", normalizer, kMl);
  table.own("Binarizer", binarizer, kMl);
  table.own("ArrayFeatureExtractor", array_feature_extractor, kMl).moves();
  // Of the defaults one counts, by the type of the values.
  table.own("LabelEncoder", label_encoder, kMl)
      .since(2)
      .without("default_string")
      .without("default_int64")
      .without("default_float");
  table.own("Imputer", imputer, kMl);
  table.own("OneHotEncoder", one_hot_encoder, kMl);
  table.own("FeatureVectorizer", feature_vectorizer, kMl);
}

}  // namespace isobit::onnx
