// What isobit will not have, with the reason.
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {

void add_refused_rows(Table& table) {
  table.refuse({"SequenceMap", "Optional", "OptionalGetElement", "OptionalHasElement"},
               "isobit has tensors, no optional values, and sequences only where their lengths are known");
  table.refuse({"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"},
               "isobit has no text");
  table.refuse({"ImageDecoder"}, "isobit has no images but those of a data set");
  table.refuse({"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"},
               "it draws random numbers, so that its result is no function of the model and its inputs");
  table.refuse({"Gradient", "Adagrad", "Adam", "Momentum"}, "training is the job's, not the model's",
               "ai.onnx.preview.training");
}

}  // namespace isobit::onnx
