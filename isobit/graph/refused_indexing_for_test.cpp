// Operators that move elements by data, and those of shapes and places: nodes that are refused, and nodes that are
// taken.
#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

Attributes with(const char* name, Attribute value) { return {{name, std::move(value)}}; }
Type truth(Ints dims) { return {DType::kBool, std::move(dims)}; }

void refused_gathers(std::vector<Refused>& all) {
  const Type x = f32({4, 3}), tuples = i64({5, 1});
  const Attributes src = with("src_shape", Ints{4, 3});
  for (const Refused& r : std::vector<Refused>{
           {"Gather",
            {f32({int64_t{1} << 31, 2}), i64({int64_t{1} << 31})},
            "over the limit of",
            with("axis", int64_t{1})},
           {"Gather", {f32({kHuge, 2}), i64({kHuge, 2})}, "dimensions overflow", with("axis", int64_t{1})},
           {"isobit.GatherGrad", {i64({2}), f32({2, 4})}, "expected [2, 3]", src},
           {"isobit.GatherGrad", {f32({2}), f32({2, 3})}, "expected int64 or int32", src},
           {"isobit.GatherGrad", {i64({2}), i64({2, 3})}, "expected float32 or float64", src},
           {"isobit.GatherGrad", {i64({2}), f32({2, 3})}, "must not be negative", with("src_shape", Ints{4, -3})},
           {"GatherElements", {x, f32({4, 3})}, "expected int64 or int32"},
           {"GatherElements", {x, i64({4})}, "expected rank 2"},
           {"GatherElements", {x, i64({9, 4})}, "the indices have 4 places on axis 1, expected at most 3"},
           {"GatherElements", {x, i64({9, 3})}, "axis -3 is outside", with("axis", int64_t{-3})},
           {"GatherElements", {f32({4, kHuge}), i64({kHuge, kHuge})}, "dimensions overflow"},
           {"isobit.GatherElementsGrad", {i64({9, 3}), f32({9, 2})}, "expected [9, 3]", src},
           {"isobit.GatherElementsGrad", {i64({9, 3}), i64({9, 3})}, "expected float32 or float64", src},
           {"isobit.GatherElementsGrad", {i64({9, 4}), f32({9, 4})}, "the indices have 4 places on axis 1", src},
           {"GatherND", {x, i32({5, 1})}, "expected int64"},
           {"GatherND", {x, i64({})}, "the indices need rank 1 or more"},
           {"GatherND", {x, i64({5, 3})}, "tuples of 3 indices, expected 1 to 2"},
           {"GatherND", {x, i64({5, 0})}, "tuples of 0 indices, expected 1 to 2"},
           {"GatherND", {x, i64({4, 2})}, "tuples of 2 indices, expected 1 to 1", with("batch_dims", int64_t{1})},
           {"GatherND", {x, tuples}, "'batch_dims' is -1", with("batch_dims", int64_t{-1})},
           {"GatherND", {x, tuples}, "'batch_dims' is 2, of 2 axes and indices of 2", with("batch_dims", int64_t{2})},
           {"GatherND", {x, tuples}, "the batches differ on axis 0", with("batch_dims", int64_t{1})},
           {"GatherND", {f32({4, kHuge}), i64({kHuge, 1})}, "dimensions overflow"},
           {"isobit.GatherNDGrad", {tuples, f32({5, 2})}, "expected [5, 3]", src},
           {"isobit.GatherNDGrad", {tuples, i64({5, 3})}, "expected float32 or float64", src},
           {"isobit.GatherNDGrad", {tuples, f32({5, 3})}, "must not be negative", with("src_shape", Ints{4, -3})},
       }) {
    all.push_back(r);
  }
}

void refused_scatters(std::vector<Refused>& all) {
  const Type x = f32({4, 3}), indices = i64({2, 3}), updates = f32({2, 3});
  const Attributes add = with("reduction", std::string("add"));
  for (const Refused& r : std::vector<Refused>{
           {"ScatterElements", {x, indices, f32({2, 2})}, "expected [2, 3]"},
           {"ScatterElements", {x, indices, f64({2, 3})}, "has type float64, expected float32"},
           {"ScatterElements", {x, f32({2, 3}), updates}, "expected int64 or int32"},
           {"ScatterElements", {x, i64({2, 4}), f32({2, 4})}, "the indices have 4 places on axis 1"},
           {"ScatterElements",
            {x, indices, updates},
            "is none of 'none', 'add', 'mul', 'max' and 'min'",
            with("reduction", std::string("mean"))},
           {"ScatterElements", {truth({4, 3}), indices, truth({2, 3})}, "reduction 'add' of bool", add},
           {"ScatterND",
            {{DType::kFloat16, {4, 3}}, i64({2, 1}), {DType::kFloat16, {2, 3}}},
            "reduction 'add' of float16",
            add},
           {"ScatterND", {x, i64({2, 1}), f32({2, 2})}, "expected [2, 3]"},
           {"ScatterND", {x, i64({2, 1}), f64({2, 3})}, "has type float64, expected float32"},
           {"ScatterND", {x, i64({2, 3}), f32({2})}, "tuples of 3 indices"},
           {"TensorScatter", {x, f32({4, 2}), i64({4})}, "axis 0 is the batch"},
           {"TensorScatter", {x, f32({4, 4})}, "an update of 4 places, axis 1 has 3", with("axis", int64_t{1})},
           {"TensorScatter", {x, f32({3, 2})}, "expected [4, 2]", with("axis", int64_t{-1})},
           {"TensorScatter", {x, f32({2})}, "expected [4, 3]", with("axis", int64_t{-1})},
           {"TensorScatter", {x, f64({4, 2})}, "has type float64", with("axis", int64_t{-1})},
           {"TensorScatter", {x, f32({4, 2}), i64({3})}, "expected [4]", with("axis", int64_t{-1})},
           {"TensorScatter", {x, f32({4, 2}), i32({4})}, "expected int64", with("axis", int64_t{-1})},
           {"TensorScatter", {x, f32({4, 2})}, "axis 2 is outside", with("axis", int64_t{2})},
           {"TensorScatter", {x, f32({4, 2})}, "neither 'linear' nor 'circular'", with("mode", std::string("round"))},
       }) {
    all.push_back(r);
  }
}

void refused_choices(std::vector<Refused>& all) {
  const Type x = f32({4, 3}), values = f32({2});
  for (const Refused& r : std::vector<Refused>{
           {"Compress", {x, i64({4})}, "expected bool"},
           {"Compress", {x, truth({4, 1})}, "expected rank 1"},
           {"Compress", {x, truth({5})}, "a condition of 5 places, expected at most 4", with("axis", int64_t{0})},
           {"Compress", {x, truth({13})}, "a condition of 13 places, expected at most 12"},
           {"Compress", {x, truth({4})}, "axis 2 is outside", with("axis", int64_t{2})},
           {"OneHot", {f32({3}), i64({}), values}, "expected integers: cast it"},
           {"OneHot", {truth({3}), i64({}), values}, "expected integers: cast it"},
           {"OneHot", {i64({3})}, "'depth' is neither an attribute nor an input"},
           {"OneHot", {i64({3})}, "'depth' is -1, expected 0 or more", with("depth", int64_t{-1})},
           {"OneHot", {i64({3})}, "the two values are missing", with("depth", int64_t{3})},
           {"OneHot", {i64({3}), i64({2}), values}, "expected [1]"},
           {"OneHot", {i64({3}), f32({}), values}, "expected int64 or int32"},
           {"OneHot", {i64({3}), i64({}), f32({3})}, "expected [2]"},
           {"OneHot", {i64({3}), i64({}), values}, "axis 2 is outside a tensor of rank 2", with("axis", int64_t{2})},
           {"NonZero", {x}, "attribute 'axis' is not known", with("axis", int64_t{0})},
           {"Unique", {x}, "axis 2 is outside", with("axis", int64_t{2})},
           {"Unique", {{DType::kBfloat16, {3}}}, "distinct elements of bfloat16"},
           {"Shape", {x}, "attribute 'axis' is not known", with("axis", int64_t{0})},
           {"Size", {x}, "attribute 'axis' is not known", with("axis", int64_t{0})},
           {"EyeLike", {f32({3})}, "expected rank 2"},
           {"EyeLike", {x}, "attribute 'dtype' names no type", with("dtype", int64_t{99})},
           {"ConstantOfShape", {}, "'shape' is neither an attribute nor an input"},
           {"ConstantOfShape", {}, "a dimension of -1", with("shape", Ints{2, -1})},
           {"ConstantOfShape", {}, "dimensions overflow", with("shape", Ints{kHuge, kHuge})},
           {"ConstantOfShape",
            {},
            "'value' has 2 numbers, expected 1",
            {{"shape", Ints{2}}, {"value", Tensor::zeros(DType::kFloat32, {2})}}},
           {"Range", {f32({}), f32({}), i64({})}, "has type int64, expected float32"},
           {"Range", {f32({}), f32({2}), f32({})}, "expected [1]"},
           {"Range", {truth({}), truth({}), truth({})}, "a range of bool"},
       }) {
    all.push_back(r);
  }
  all.push_back({"OneHot", {i64({3}), i64({1}), values}, "both an attribute and input 1", with("depth", int64_t{3})});
}

}  // namespace

void add_refused_indexing(std::vector<Refused>& all) {
  refused_gathers(all);
  refused_scatters(all);
  refused_choices(all);
}

void add_accepted_indexing(std::vector<Accepted>& all) {
  const Type x = f32({4, 3}), scalar = f32({});
  const Attributes src = with("src_shape", Ints{4, 3});
  const Attributes batched = {{"src_shape", Ints{4, 3}}, {"batch_dims", int64_t{1}}};
  const Attributes add = with("reduction", std::string("add"));
  for (const Accepted& a : std::vector<Accepted>{
           {"isobit.GatherGrad", {i32({2, 2}), f32({2, 2, 3})}, {x}, src},
           {"GatherElements", {x, i32({9, 2})}, {f32({9, 2})}},
           {"isobit.GatherElementsGrad", {i64({9, 2}), f32({9, 2})}, {x}, src},
           {"GatherND", {x, i64({5, 1})}, {f32({5, 3})}},
           {"GatherND", {x, i64({2})}, {scalar}},
           {"GatherND", {x, i64({4, 5, 1})}, {f32({4, 5})}, with("batch_dims", int64_t{1})},
           {"isobit.GatherNDGrad", {i64({4, 5, 1}), f32({4, 5})}, {x}, batched},
           {"ScatterElements", {x, i32({9, 2}), f32({9, 2})}, {x}, add},
           {"ScatterElements", {truth({4}), i64({2}), truth({2})}, {truth({4})}},
           {"ScatterND", {x, i64({5, 2}), f32({5})}, {x}, add},
           {"ScatterND", {{DType::kFloat16, {4}}, i64({1}), {DType::kFloat16, {}}}, {{DType::kFloat16, {4}}}},
           {"TensorScatter", {f32({2, 9, 4}), f32({2, 1, 4}), i64({2})}, {f32({2, 9, 4})}},
           {"TensorScatter", {x, f32({4, 2})}, {x}, {{"axis", int64_t{1}}, {"mode", std::string("circular")}}},
           {"Compress", {x, truth({3})}, {f32({4, -1})}, with("axis", int64_t{-1})},
           {"Compress", {x, truth({12})}, {f32({-1})}},
           {"OneHot", {{DType::kUint8, {3}}, i64({}), i32({2})}, {i32({3, -1})}},
           {"NonZero", {truth({2, 3})}, {i64({2, -1})}},
           {"Unique", {x}, {f32({-1}), i64({-1}), i64({12}), i64({-1})}},
           {"Unique", {x}, {f32({4, -1}), i64({-1}), i64({3}), i64({-1})}, with("axis", int64_t{1})},
           {"Shape", {f32({2, 3, 4})}, {i64({2})}, {{"start", int64_t{-9}}, {"end", int64_t{-1}}}},
           {"Shape", {scalar}, {i64({0})}},
           {"Size", {x}, {i64({})}},
           {"EyeLike", {x}, {i32({4, 3})}, with("dtype", static_cast<int64_t>(DType::kInt32))},
           {"ConstantOfShape", {i64({2})}, {f32({-1, -1})}},
           {"ConstantOfShape", {}, {i64({2, 0})}, {{"shape", Ints{2, 0}}, {"value", Tensor::scalar(int64_t{3})}}},
           {"Range", {scalar, f32({1}), scalar}, {f32({-1})}},
       }) {
    all.push_back(a);
  }
}

}  // namespace isobit::graph
