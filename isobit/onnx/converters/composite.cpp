// Operators that are written as several others: losses, recurrent cells, attention, Einsum.
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {

void add_composite_rows(Table& table) {
  for (const char* op : {"Einsum", "RNN", "GRU", "LSTM", "Attention", "RotaryEmbedding", "NegativeLogLikelihoodLoss",
                         "SoftmaxCrossEntropyLoss", "DFT", "STFT", "MelWeightMatrix"}) {
    table.same(op);
  }
}

}  // namespace isobit::onnx
