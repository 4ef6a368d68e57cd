// Small models in which tests plant causes, one operator at a time.
#pragma once

#include "isobit/onnx/model_for_test.h"

namespace isobit::lab::explain::testing {

inline std::vector<float> drawn(size_t n, float scale, uint32_t seed) {
  std::vector<float> values;
  uint32_t state = seed;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(scale * (static_cast<float>(state >> 8) * 0x1p-23f - 1.0f));
  }
  return values;
}

// An image: two convolutions, a mean of each plane, a product, exponentials.
inline void write_image_model(const fs::path& path, int64_t channels, int64_t size, uint32_t seed) {
  onnx::ModelForTest m;
  const auto c = static_cast<size_t>(channels);
  m.input("x", {1, 3, size, size});
  m.initializer("w1", onnx::floats({channels, 3, 3, 3}, drawn(c * 27, 0.4f, seed)));
  m.initializer("b1", onnx::floats({channels}, drawn(c, 0.2f, seed + 1)));
  m.initializer("w2", onnx::floats({channels, channels, 3, 3}, drawn(c * c * 9, 0.3f, seed + 2)));
  m.initializer("w3", onnx::floats({channels, 24}, drawn(c * 24, 0.9f, seed + 3)));
  m.initializer("b3", onnx::floats({24}, drawn(24, 0.3f, seed + 4)));
  const std::vector<int64_t> pads = {1, 1, 1, 1};
  m.node("Conv", {"x", "w1", "b1"}, {"conv1"}).with("pads", pads).named("first convolution");
  m.node("Relu", {"conv1"}, {"relu1"});
  m.node("Conv", {"relu1", "w2"}, {"conv2"}).with("pads", pads).named("second convolution");
  m.node("Tanh", {"conv2"}, {"tanh1"});
  m.node("GlobalAveragePool", {"tanh1"}, {"pooled"});
  m.node("Flatten", {"pooled"}, {"flat"});
  m.node("Gemm", {"flat", "w3", "b3"}, {"scores"}).named("scores");
  m.node("Softmax", {"scores"}, {"y"}).with("axis", -1);
  m.output("y");
  m.write(path);
}

// Rows: products, functions, a mean, a division by a constant.
inline void write_rows_model(const fs::path& path, int64_t rows, int64_t width, uint32_t seed) {
  onnx::ModelForTest m;
  const auto k = static_cast<size_t>(width);
  m.input("x", {rows, width});
  m.initializer("w1", onnx::floats({width, 30}, drawn(k * 30, 0.5f, seed)));
  m.initializer("w2", onnx::floats({30, 42}, drawn(30 * 42, 0.4f, seed + 1)));
  m.initializer("six", onnx::floats({}, {6.0f}));
  m.node("MatMul", {"x", "w1"}, {"product1"}).named("first product");
  m.node("Sigmoid", {"product1"}, {"gate"});
  m.node("MatMul", {"gate", "w2"}, {"product2"}).named("second product");
  m.node("Exp", {"product2"}, {"powers"});
  m.node("Div", {"powers", "six"}, {"sixths"});
  m.node("Softmax", {"sixths"}, {"shares"}).with("axis", -1);
  m.node("Log", {"shares"}, {"logs"});
  m.initializer("axes", onnx::ints({1}));
  m.node("ReduceMean", {"logs", "axes"}, {"y"}).with("keepdims", int64_t{0});
  m.output("y");
  m.write(path);
}

// Functions of single elements.
inline void write_functions_model(const fs::path& path) {
  onnx::ModelForTest m;
  m.input("x", {6, 40});
  m.initializer("exponents", onnx::floats({40}, drawn(40, 2.0f, 5)));
  m.node("Sin", {"x"}, {"sine"});
  m.node("Cos", {"sine"}, {"cosine"});
  m.node("Erf", {"cosine"}, {"error"});
  m.node("Sqrt", {"error"}, {"root"});
  m.node("Pow", {"root", "exponents"}, {"power"});
  m.node("Gelu", {"power"}, {"gelu"});
  m.node("Softplus", {"gelu"}, {"soft"});
  m.initializer("axes", onnx::ints({1}));
  m.node("ReduceSum", {"soft", "axes"}, {"y"}).with("keepdims", int64_t{0});
  m.output("y");
  m.write(path);
}

// Numbers below the least normal one.
inline void write_tiny_model(const fs::path& path) {
  onnx::ModelForTest m;
  m.input("x", {6, 30});
  m.initializer("tiny", onnx::floats({}, {3e-39f}));
  m.initializer("w", onnx::floats({30, 20}, drawn(600, 0.3f, 8)));
  m.node("Mul", {"x", "tiny"}, {"scaled"});
  m.node("Relu", {"scaled"}, {"rectified"});
  m.node("MatMul", {"rectified", "w"}, {"product"});
  m.output("product");
  m.write(path);
}

inline void write_least_powers_model(const fs::path& path) {
  onnx::ModelForTest m;
  m.input("x", {5, 40});
  m.initializer("minus", onnx::floats({}, {-88.0f}));
  m.initializer("half", onnx::floats({}, {0.5f}));
  m.initializer("axes", onnx::ints({1}));
  m.node("Add", {"x", "minus"}, {"moved"});
  m.node("Exp", {"moved"}, {"powers"});
  m.node("Mul", {"powers", "half"}, {"halves"});
  m.node("ReduceMin", {"halves", "axes"}, {"y"}).with("keepdims", int64_t{0});
  m.output("y");
  m.write(path);
}

// One product and nothing else that a library could compute in its own way.
inline void write_one_product_model(const fs::path& path, int64_t rows, int64_t k, int64_t columns) {
  onnx::ModelForTest m;
  m.input("x", {rows, k});
  m.initializer("w", onnx::floats({k, columns}, drawn(static_cast<size_t>(k * columns), 0.5f, 12)));
  m.node("Tanh", {"x"}, {"bounded"});
  m.node("MatMul", {"bounded", "w"}, {"product"});
  m.node("Sigmoid", {"product"}, {"y"});
  m.output("y");
  m.write(path);
}

}  // namespace isobit::lab::explain::testing
