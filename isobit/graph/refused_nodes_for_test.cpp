#include "isobit/graph/refused_nodes_for_test.h"

#include <cmath>

namespace isobit::graph {
namespace {

const Attributes kSrc = {{"src_shape", Ints{2, 3, 4, 4}}, {"kernel_shape", Ints{2, 2}}};
const Attributes kWindow = {{"kernel_shape", Ints{2, 2}}};
const Attributes kBlock = {{"starts", Ints{1, 0}}, {"counts", Ints{2, 2}}};
const Attributes kBlockGrad = {{"starts", Ints{1, 0}}, {"counts", Ints{2, 2}}, {"src_shape", Ints{3, 2}}};

void refused_windows(std::vector<Refused>& all) {
  const Type image = f32({2, 3, 4, 4}), kernel = f32({6, 3, 2, 2}), conv = f32({2, 6, 3, 3}), half = f32({2, 3, 3, 3});
  const auto with = [](const char* name, Attribute value) { return Attributes{{name, std::move(value)}}; };
  for (const Refused& r : std::vector<Refused>{
           {"Conv", {i64({2, 3, 4, 4}), kernel}, "expected float32 or float64"},
           {"Conv", {image, f64(kernel.dims)}, "has type float64, expected float32"},
           {"Conv", {image, kernel, f64({6})}, "has type float64, expected float32"},
           {"Conv", {f32({3, 4, 4}), kernel}, "need rank 3 or both rank 4"},
           {"Conv", {f32({3, 4}), f32({6, 3})}, "need rank 3 or both rank 4"},
           {"Conv", {image, f32({-1, 3, 2, 2})}, "weights' shape must be known"},
           {"Conv", {image, f32({6, 4, 2, 2})}, "source has 3 channels, weights expect 4"},
           {"Conv", {image, f32({6, 3, 5, 1})}, "larger than the padded source"},
           {"Conv", {image, kernel, f32({5})}, "expected [6]"},
           {"Conv", {image, kernel}, "does not divide 6", with("group", int64_t{4})},
           {"Conv", {image, kernel}, "does not divide 6", with("group", int64_t{0})},
           {"Conv", {image, kernel}, "does not divide 6", with("group", int64_t{1} << 62)},
           {"Conv", {image, f32({0, 3, 2, 2})}, "weights of 0 x 3 channels"},
           {"Conv", {f32({2, 0, 4, 4}), f32({6, 0, 2, 2})}, "weights of 6 x 0 channels"},
           {"Conv", {f32({2, 3, 0, 4}), f32({6, 3, 1, 1})}, "a source of 0 x 4 places", with("pads", Ints{1, 0, 0, 0})},
           {"Conv", {f32({2, 3, 1 << 16, 1 << 16}), kernel}, "a plane of 65536 x 65536 places"},
           {"Conv", {f32({2, 3, -1, INT64_MAX}), kernel}, "a plane of -1 x 9223372036854775807 places"},
           {"Conv",
            {f32({2, 3, 4, (int64_t{1} << 29) - 1}), kernel},
            "a plane of 5 x 536870910 places",
            with("pads", Ints{1, 0, 1, 0})},
           {"Conv", {image, f32({4, int64_t{1} << 62, 1, 1})}, "weights are too large", with("group", int64_t{4})},
           {"isobit.ConvGradSrc",
            {conv, kernel},
            "a plane of 9223372036854775807 x 4 places",
            {{"src_shape", Ints{2, 3, INT64_MAX, 4}}, {"pads", Ints{1, 0, 0, 0}}}},
           {"isobit.ConvGradWeights",
            {f32({1, 0, 4, 4}), f32({1, 2, 4, 4})},
            "weights of 2 x 0 channels",
            with("weights_shape", Ints{2, 0, 1, 1})},
           {"Conv", {image, kernel}, "differs from the weights", with("kernel_shape", Ints{2, 3})},
           {"Conv", {image, kernel}, "auto_pad 'SAME'", with("auto_pad", std::string("SAME"))},
           {"Conv", {image, kernel}, "need 2 numbers and pads 4", with("pads", Ints{1, 1})},
           {"Conv", {image, kernel}, "need 2 numbers and pads 4", with("strides", Ints{1})},
           {"Conv", {image, kernel}, "found 0, expected 1 to 16777216", with("strides", Ints{0, 1})},
           {"Conv",
            {image, kernel},
            "found 16777217, expected 1 to 16777216",
            with("dilations", Ints{1, (1 << 24) + 1})},
           {"Conv", {image, kernel}, "pads: found -1, expected 0 to 16777216", with("pads", Ints{0, 0, -1, 0})},
           {"isobit.ConvGradSrc", {conv, kernel}, "need rank 3 or both rank 4"},
           {"isobit.ConvGradSrc", {conv, kernel}, "must not be negative", with("src_shape", Ints{2, 3, -4, 4})},
           {"isobit.ConvGradSrc", {half, kernel}, "expected [2, 6, 3, 3]", with("src_shape", image.dims)},
           {"isobit.ConvGradSrc", {conv, f64(kernel.dims)}, "has type float64", with("src_shape", image.dims)},
           {"isobit.ConvGradSrc",
            {i64(conv.dims), i64(kernel.dims)},
            "expected float32",
            with("src_shape", image.dims)},
           {"isobit.ConvGradWeights", {image, conv}, "need rank 3 or both rank 4"},
           {"isobit.ConvGradWeights", {image, half}, "expected [2, 6, 3, 3]", with("weights_shape", kernel.dims)},
           {"isobit.ConvGradWeights", {image, conv}, "must not be negative", with("weights_shape", Ints{6, -3, 2, 2})},
           {"isobit.ConvGradWeights", {image, f64(conv.dims)}, "has type float64", with("weights_shape", kernel.dims)},
           {"isobit.ConvGradWeights",
            {i64(image.dims), i64(conv.dims)},
            "expected float32",
            with("weights_shape", kernel.dims)},
           {"MaxPool", {i64(image.dims)}, "expected float32, float64, int8 or uint8", kWindow},
           {"MaxPool", {f32({3, 4})}, "needs rank 3 or more", kWindow},
           {"AveragePool", {f32({1, 1, 32768, 65536})}, "32768 x 65536 places", kWindow},
           {"AveragePool", {f32({1, 1, 0, INT64_MAX})}, "a plane of 0 x 9223372036854775807 places", kWindow},
           {"AveragePool", {image}, "need 2 numbers"},
           {"MaxPool", {f32({2, 3, 1, 4})}, "larger than the padded source", kWindow},
           {"MaxPool", {image}, "smaller than the window", {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 2, 0, 0}}}},
           {"isobit.MaxPoolGrad", {f32({2, 3, 2, 3}), i64({2, 3, 2, 3})}, "expected [2, 3, 3, 3]", kSrc},
           {"isobit.MaxPoolGrad", {half, i64({2, 3, 3, 2})}, "expected [2, 3, 3, 3]", kSrc},
           {"isobit.MaxPoolGrad", {half, i32(half.dims)}, "expected int64", kSrc},
           {"isobit.AveragePoolGrad", {i64(half.dims)}, "expected float32 or float64", kSrc},
           {"isobit.AveragePoolGrad", {half}, "needs rank 3 or more", kWindow},
           {"isobit.AveragePoolGrad",
            {half},
            "must not be negative",
            {{"kernel_shape", Ints{2, 2}}, {"src_shape", Ints{2, -3, 4, 4}}}},
           {"GlobalAveragePool", {f32({2})}, "needs rank 2 or more"},
           {"GlobalAveragePool", {i64(image.dims)}, "expected float32 or float64"},
           {"isobit.GlobalAveragePoolGrad", {f32({2, 3, 1, 1})}, "needs 2 numbers or more"},
           {"isobit.GlobalAveragePoolGrad", {half}, "must not be negative", with("src_shape", Ints{2, 3, -4, 4})},
           {"isobit.GlobalAveragePoolGrad", {half}, "expected [2, 3, 1, 1]", with("src_shape", image.dims)},
           {"isobit.GlobalAveragePoolGrad", {i64({2, 3, 1, 1})}, "expected float32", with("src_shape", image.dims)},
       }) {
    all.push_back(r);
  }
}

void refused_rows(std::vector<Refused>& all) {
  const Type x = f32({2, 3}), row = f32({3}), rows = f32({2}), image = f32({2, 3, 4}), scalar = f32({}), rate = f64({});
  for (const char* op : {"BatchNormalization", "isobit.BatchNormApply"}) {
    all.push_back({op, {i64({2, 3}), row, row, row, row}, "expected float32 or float64"});
    all.push_back({op, {row, row, row, row, row}, "rank 2 or more"});
    all.push_back({op, {image, row, row, rows, row}, "expected [3]"});
    all.push_back({op, {image, row, row, f64({3}), row}, "has type float64"});
  }
  for (const Refused& r : std::vector<Refused>{
           {"isobit.BatchStatistics", {row}, "rank 2 or more"},
           {"isobit.RunningUpdate", {row, row}, "2 values or more", {{"count", int64_t{1}}}},
           {"isobit.RunningUpdate", {row, rows}, "expected [3]"},
           {"isobit.RunningUpdate", {row, f64({3})}, "has type float64"},
           {"isobit.RunningUpdate", {i64({3}), i64({3})}, "expected float32 or float64"},
           {"isobit.BatchNormGrad", {image, row, rows, row, image}, "expected [3]"},
           {"isobit.BatchNormGrad", {image, row, row, row, x}, "expected [2, 3, 4]"},
           {"isobit.BatchNormGrad", {image, row, row, row, f64(image.dims)}, "has type float64"},
           {"LayerNormalization", {i64({2, 3}), row, row}, "expected float32 or float64"},
           {"LayerNormalization", {scalar, row, row}, "rank 1 or more"},
           {"LayerNormalization", {x, row, rows}, "expected [3]"},
           {"LayerNormalization", {x, row, f64({3})}, "has type float64"},
           {"isobit.LayerNormGrad", {scalar, rows, rows, row, scalar}, "rank 1 or more"},
           {"isobit.LayerNormGrad", {i64({2, 3}), rows, rows, row, x}, "expected float32 or float64"},
           {"isobit.LayerNormGrad", {x, row, rows, row, x}, "expected [2]"},
           {"isobit.LayerNormGrad", {x, rows, row, row, x}, "expected [2]"},
           {"isobit.LayerNormGrad", {x, rows, rows, rows, x}, "expected [3]"},
           {"isobit.LayerNormGrad", {x, rows, rows, row, row}, "expected [2, 3]"},
           {"isobit.LayerNormGrad", {x, rows, f64({2}), row, x}, "has type float64"},
           {"isobit.CausalSoftmax", {row}, "rank 2 or more"},
           {"isobit.CausalSoftmax", {i64({3, 3})}, "expected float32 or float64"},
           {"isobit.CausalSoftmaxGrad", {x, row}, "expected [2, 3]"},
           {"isobit.CrossEntropy", {row, i64({3})}, "expected rank 2"},
           {"isobit.CrossEntropy", {i64({2, 3}), i64({2})}, "expected float32 or float64"},
           {"isobit.CrossEntropy", {x, i64({3})}, "expected [2]"},
           {"isobit.CrossEntropy", {x, i32({2})}, "expected int64"},
           {"isobit.CrossEntropyGrad", {row, i64({3}), row, row, scalar}, "expected rank 2"},
           {"isobit.CrossEntropyGrad", {x, i64({2}), rows, row, scalar}, "expected [2]"},
           {"isobit.CrossEntropyGrad", {x, i32({2}), rows, rows, scalar}, "expected int64"},
           {"isobit.CrossEntropyGrad", {x, i64({2}), rows, rows, row}, "expected [2]"},
           {"isobit.CrossEntropyGrad", {x, i64({2}), rows, rows, rate}, "has type float64"},
           {"isobit.ClipFactor", {row}, "expected rank 0", {{"max_norm", 1.0}}},
           {"isobit.ClipFactor", {i64({})}, "expected float32 or float64", {{"max_norm", 1.0}}},
           {"isobit.ClipFactor", {scalar}, "'max_norm' must be positive"},
           {"isobit.Sgd", {i64({2, 3}), i64({2, 3}), rate}, "expected float32 or float64"},
           {"isobit.Sgd", {x, row, rate}, "expected [2, 3]"},
           {"isobit.Sgd", {x, f64({2, 3}), rate}, "has type float64"},
           {"isobit.Sgd", {x, x, f64({1})}, "expected rank 0"},
           {"isobit.Sgd", {x, x, scalar}, "expected float64"},
           {"isobit.Sgd", {x, x, rate, x, rate}, "has type float64, expected float32", {{"momentum", 0.5}}},
           {"isobit.Sgd", {x, x, rate, row}, "expected [2, 3]", {{"momentum", 0.5}}},
           {"isobit.Sgd", {x, x, rate, x}, "momentum needs a buffer"},
           {"isobit.Sgd", {x, x, rate}, "momentum needs a buffer", {{"momentum", 0.5}}},
           {"isobit.Sgd", {x, x, rate, x}, "is updated in output 1", {{"momentum", 0.5}}},
           {"isobit.Adam", {i64({1}), x, x, x, rate, rate, rate}, "expected float32 or float64"},
           {"isobit.Adam", {x, x, row, x, rate, rate, rate}, "expected [2, 3]"},
           {"isobit.Adam", {x, x, x, f64({2, 3}), rate, rate, rate}, "has type float64"},
           {"isobit.Adam", {x, x, x, x, rate, scalar, rate}, "has type float32, expected "},
           {"isobit.Adam", {x, x, x, x, rate, rate, rate, rate}, "has type float64, expected float32"},
           {"isobit.Adam", {x, x, x, x, rate, rate, rate, row}, "expected rank 0"},
       }) {
    all.push_back(r);
  }
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    all.push_back({op, {scalar}, "rank 1 or more"});
    all.push_back({op, {i64({3})}, "expected float32 or float64"});
    all.push_back({op, {x}, "axis 0 is not the last one", {{"axis", int64_t{0}}}});
  }
  for (const char* op : {"isobit.SoftmaxGrad", "isobit.LogSoftmaxGrad", "isobit.CausalSoftmaxGrad"}) {
    all.push_back({op, {x, f64({2, 3})}, "has type float64"});
    all.push_back({op, {x, f32({2, 4})}, "expected [2, 3]"});
  }
}

}  // namespace

std::vector<Refused> refused_nodes() {
  const Type x = f32({2, 3}), row = f32({3});
  std::vector<Refused> all = {
      {"Cast", {x}, "'to' names no type"},
      {"Cast", {x}, "'to' names no type", {{"to", int64_t{14}}}},
      {"Gelu", {i64({3})}, "expected float32 or float64"},
      {"Gelu", {x}, "neither 'none' nor 'tanh'", {{"approximate", std::string("erf")}}},
      {"isobit.GeluGrad", {x, row}, "expected [2, 3]"},
      {"isobit.GeluGrad", {x, f64({2, 3})}, "has type float64"},
      {"LeakyRelu", {i64({3})}, "expected float32 or float64"},
      {"LeakyRelu", {x}, "'alpha' is not finite", {{"alpha", HUGE_VAL}}},
      {"isobit.LeakyReluGrad", {x, row}, "expected [2, 3]"},
      {"isobit.LeakyReluGrad", {x, f64({2, 3})}, "has type float64"},
      {"isobit.Dropout", {i64({3}), i64({})}, "expected float32 or float64"},
      {"isobit.Dropout", {x, i64({1})}, "expected rank 0"},
      {"isobit.Dropout", {x, f32({})}, "expected int64 or int32"},
      {"isobit.Dropout", {x, i64({})}, "'ratio' is not in [0, 1)", {{"ratio", 1.0}}},
      {"isobit.Dropout", {x, i64({})}, "'ratio' is not in [0, 1)", {{"ratio", -0.5}}},
      {"isobit.Dropout", {x, i64({})}, "'first' is not in 0 to 2^42", {{"first", int64_t{-1}}}},
      {"isobit.Dropout", {x, i64({})}, "more than 2^42 elements", {{"first", int64_t{1} << 42}}},
      {"MatMul", {i64({2, 3}), i64({3, 2})}, "expected float32 or float64"},
      {"MatMul", {x, f64({3, 2})}, "has type float64"},
      {"MatMul", {row, x}, "rank 2 or more"},
      {"MatMul", {x, x}, "inner dimensions 3 and 2 differ"},
      {"MatMul", {f32({2, 4, 3}), f32({3, 3, 4})}, "do not broadcast"},
      {"Gemm", {f32({1, 2, 3}), x}, "expected rank 2"},
      {"Gemm", {x, row}, "expected rank 2"},
      {"Gemm", {i64({2, 3}), i64({3, 2})}, "expected float32 or float64"},
      {"Gemm", {x, f64({3, 2})}, "has type float64"},
      {"Gemm", {x, f32({3, 2}), f64({2})}, "has type float64"},
      {"Gemm", {x, x}, "inner dimensions 3 and 2 differ"},
      {"Gemm", {x, f32({3, 2}), row}, "expected [2]"},
      {"Transpose", {x}, "does not have the source's rank", {{"perm", Ints{0}}}},
      {"Transpose", {x}, "is not a permutation", {{"perm", Ints{1, 1}}}},
      {"Transpose", {x}, "is not a permutation", {{"perm", Ints{1, 2}}}},
      // Of the sorted numbers the first two are right.
      {"Transpose", {f32({1, 2, 3})}, "is not a permutation", {{"perm", Ints{1 << 30, 0, 1}}}},
      {"Reshape", {f32({int64_t{1} << 32, int64_t{1} << 32})}, "source is too large", {{"shape", Ints{1}}}},
      {"Reshape", {x}, "'shape' is malformed", {{"shape", Ints{-1, -1}}}},
      {"Reshape", {x}, "'shape' is malformed", {{"shape", Ints{-2, 3}}}},
      {"Reshape", {x}, "'shape' is malformed", {{"shape", Ints{int64_t{1} << 32, int64_t{1} << 32}}}},
      {"Reshape", {x}, "does not divide the source", {{"shape", Ints{4, -1}}}},
      {"Reshape", {x}, "does not hold the source's 6 elements", {{"shape", Ints{5}}}},
      {"Flatten", {x}, "axis 3 is outside the source", {{"axis", int64_t{3}}}},
      {"Flatten", {x}, "axis -3 is outside the source", {{"axis", int64_t{-3}}}},
      {"Flatten", {f32({int64_t{1} << 32, int64_t{1} << 32, 2})}, "source is too large", {{"axis", int64_t{2}}}},
      {"Concat", {x, x}, "axis 2 is outside a tensor of rank 2", {{"axis", int64_t{2}}}},
      {"Concat", {x, f64({2, 3})}, "differ in type or rank"},
      {"Concat", {x, row}, "differ in type or rank"},
      {"Concat", {x, f32({2, 4})}, "expected [2, 3]"},
      {"Concat", {f32({int64_t{1} << 62}), f32({int64_t{1} << 62})}, "too large"},
      {"isobit.Block", {x}, "need one number an axis", {{"starts", Ints{0}}, {"counts", Ints{1}}}},
      {"isobit.Block", {x}, "the block leaves axis 1", {{"starts", Ints{0, 2}}, {"counts", Ints{1, 2}}}},
      {"isobit.BlockGrad", {row}, "expected [2, 2]", kBlockGrad},
      {"isobit.BlockGrad", {f32({2, 2})}, "need one number an axis", kBlock},
      {"isobit.BlockGrad", {f32({2, 2})}, "must not be negative", {{"src_shape", Ints{3, -2}}}},
      {"Gather", {x, f32({1})}, "expected int64 or int32"},
      {"Gather", {x, i64({1})}, "axis 2 is outside a tensor of rank 2", {{"axis", int64_t{2}}}},
      {"isobit.EmbeddingGrad", {i64({2}), x}, "needs 2 numbers"},
      {"isobit.EmbeddingGrad", {i64({2}), x}, "must not be negative", {{"table_shape", Ints{-5, 3}}}},
      {"isobit.EmbeddingGrad", {i64({3}), x}, "expected [3, 3]", {{"table_shape", Ints{5, 3}}}},
      {"isobit.EmbeddingGrad", {f32({2}), x}, "expected int64", {{"table_shape", Ints{5, 3}}}},
      {"isobit.EmbeddingGrad", {i64({2}), i64({2, 3})}, "expected float32", {{"table_shape", Ints{5, 3}}}},
      {"Expand", {x}, "do not broadcast", {{"shape", Ints{2, 4}}}},
      {"Expand", {x}, "a number of 'shape' is -2", {{"shape", Ints{-2, 2, 3}}}},
      {"isobit.SumTo", {i64({3})}, "expected float32 or float64", {{"shape", Ints{3}}}},
      {"isobit.SumTo", {x}, "does not broadcast to the source", {{"shape", Ints{2, 2, 3}}}},
      {"isobit.SumTo", {x}, "do not broadcast", {{"shape", Ints{2, 4}}}},
      {"isobit.SumTo", {x}, "must not be negative", {{"shape", Ints{-1, 3}}}},
      {"isobit.GlobalNorm", {x, f64({3})}, "has type float64"},
      {"isobit.GlobalNorm", {i64({3})}, "expected float32 or float64"},
      {"NoSuchOperator", {x}, "unknown operator"},
  };
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    all.push_back({op, {x, f64({2, 3})}, "has type float64"});
    all.push_back({op, {x, f32({2})}, "do not broadcast"});
    all.push_back({op, {{DType::kBool, {2}}, {DType::kBool, {2}}}, "is bool, expected one of float32, float64, int8"});
  }
  for (const char* op : {"isobit.ReluGrad", "isobit.SigmoidGrad", "isobit.TanhGrad"}) {
    all.push_back({op, {i64({3}), i64({3})}, "expected float32 or float64"});
    all.push_back({op, {x, row}, "expected [2, 3]"});
    all.push_back({op, {x, f64({2, 3})}, "has type float64"});
  }
  refused_windows(all);
  refused_rows(all);
  add_refused_reductions(all);
  add_refused_control(all);
  add_refused_elementwise(all);
  add_refused_movement(all);
  add_refused_indexing(all);
  add_refused_windows(all);
  add_refused_composite(all);
  add_refused_gradients(all);
  return all;
}

}  // namespace isobit::graph
