// Operators that move elements by parameters: nodes that are refused, and nodes that are taken.
#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

const Attributes kSliceGrad = {
    {"starts", Ints{3, 1}}, {"counts", Ints{2, 2}}, {"steps", Ints{-2, 2}}, {"src_shape", Ints{4, 5}}};
const Attributes kPadGrad = {{"pads", Ints{1, 0}}, {"mode", std::string("edge")}, {"src_shape", Ints{3}}};

Attributes with(const char* name, Attribute value) { return {{name, std::move(value)}}; }
Attributes also(Attributes attributes, const char* name, Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}

constexpr int64_t kHuge = int64_t{1} << 40;

void refused_shapes(std::vector<Refused>& all) {
  const Type x = f32({2, 3}), image = f32({1, 8, 4, 6});
  for (const Refused& r : std::vector<Refused>{
           {"Reshape", {x}, "'shape' is neither an attribute nor an input"},
           {"Reshape", {x, i64({1})}, "both an attribute and input 1", with("shape", Ints{6})},
           {"Reshape", {x, f32({1})}, "expected int64 or int32"},
           {"Reshape", {x, i64({1, 2})}, "expected rank 0 or 1"},
           {"Reshape", {x}, "has 65537 numbers, expected at most 65536", with("shape", Ints(65537, 1))},
           {"Reshape", {f32({1})}, "a tensor of 65 axes, expected at most 64", with("shape", Ints(65, 1))},
           {"Reshape", {f32({0, 3})}, "'shape' has both 0 and -1", {{"shape", Ints{0, -1}}, {"allowzero", int64_t{1}}}},
           {"Squeeze", {x}, "axis 1 has extent 3, expected 1", with("axes", Ints{1})},
           {"Squeeze", {x}, "axis 2 is outside a tensor of rank 2", with("axes", Ints{2})},
           {"Unsqueeze", {x}, "'axes' is neither an attribute nor an input"},
           {"Unsqueeze", {x}, "axis -3 is named twice", with("axes", Ints{1, -3})},
           {"Unsqueeze", {x}, "axis 3 is outside a tensor of rank 3", with("axes", Ints{3})},
           {"Expand", {x}, "'shape' is neither an attribute nor an input"},
           {"Expand", {x}, "dimensions overflow", with("shape", Ints{kHuge, kHuge, 2, 3})},
           {"Expand", {f32({1})}, "over the limit of", with("shape", Ints{int64_t{1} << 62})},
           {"Tile", {x}, "found 1 repeats, expected one for each of 2 axes", with("repeats", Ints{1})},
           {"Tile", {x}, "a number of 'repeats' is -1", with("repeats", Ints{1, -1})},
           {"Tile", {x}, "axis 1 is too large when it is repeated", with("repeats", Ints{1, INT64_MAX})},
           {"Tile", {x}, "dimensions overflow", with("repeats", Ints{kHuge, kHuge})},
           {"DepthToSpace", {f32({8, 4, 6})}, "expected rank 4", with("blocksize", int64_t{2})},
           {"DepthToSpace", {image}, "blocksize 0, expected 1 to 1048576"},
           {"DepthToSpace", {image}, "blocksize 1048577", with("blocksize", int64_t{(1 << 20) + 1})},
           {"DepthToSpace", {image}, "an extent of 8 is no multiple of 9", with("blocksize", int64_t{3})},
           {"DepthToSpace",
            {image},
            "neither 'DCR' nor 'CRD'",
            {{"blocksize", int64_t{2}}, {"mode", std::string("RCD")}}},
           {"SpaceToDepth", {image}, "an extent of 6 is no multiple of 4", with("blocksize", int64_t{4})},
           {"SpaceToDepth",
            {f32({1, int64_t{1} << 62, 2, 2})},
            "an extent of 4611686018427387904 x 4",
            with("blocksize", int64_t{2})},
           {"ReverseSequence", {f32({3}), i64({3})}, "the source needs rank 2 or more"},
           {"ReverseSequence", {x, i64({3})}, "batch axis 0 and time axis 0", with("batch_axis", int64_t{0})},
           {"ReverseSequence",
            {x, i64({3})},
            "batch axis 2 and time axis -1",
            {{"batch_axis", int64_t{2}}, {"time_axis", int64_t{-1}}}},
           {"ReverseSequence", {x, i64({2})}, "expected [3]"},
           {"ReverseSequence", {x, i32({3})}, "expected int64"},
           {"Trilu", {f32({3})}, "matrices need rank 2 or more"},
           {"Trilu", {x, f32({})}, "expected int64 or int32"},
           {"Concat", {x, i32({2, 3})}, "differ in type or rank"},
       }) {
    all.push_back(r);
  }
}

void refused_slices(std::vector<Refused>& all) {
  const Type x = f32({4, 5});
  const Attributes slice = {{"starts", Ints{0, 1}}, {"ends", Ints{2, 3}}};
  for (const Refused& r : std::vector<Refused>{
           {"Slice", {x}, "'starts' is neither an attribute nor an input"},
           {"Slice", {x}, "'ends' is neither an attribute nor an input", with("starts", Ints{0})},
           {"Slice",
            {x},
            "found 2 starts, 2 ends and 1 steps, expected one of each for 1 axes",
            also(slice, "axes", Ints{0})},
           {"Slice", {x}, "expected one of each for 2 axes", also(slice, "ends", Ints{1})},
           {"Slice", {x}, "a step of 0", also(slice, "steps", Ints{1, 0})},
           {"Slice", {x}, "axis -2 is named twice", also(slice, "axes", Ints{0, -2})},
           {"Slice", {x}, "axis 2 is outside a tensor of rank 2", also(slice, "axes", Ints{0, 2})},
           {"isobit.SliceGrad", {f32({2, 2})}, "need one number an axis", also(kSliceGrad, "steps", Ints{1})},
           {"isobit.SliceGrad", {f32({2, 2})}, "the slice leaves axis 0", also(kSliceGrad, "starts", Ints{1, 1})},
           {"isobit.SliceGrad", {f32({2, 2})}, "the slice leaves axis 1", also(kSliceGrad, "steps", Ints{-2, 4})},
           {"isobit.SliceGrad", {f32({2, 2})}, "the slice leaves axis 1", also(kSliceGrad, "steps", Ints{-2, 0})},
           {"isobit.SliceGrad",
            {f32({2, 2})},
            "the slice leaves axis 0",
            also(kSliceGrad, "steps", Ints{INT64_MIN, 1})},
           {"isobit.SliceGrad", {f32({2, 2})}, "the slice leaves axis 0", also(kSliceGrad, "counts", Ints{-1, 2})},
           {"isobit.SliceGrad", {f32({2, 2})}, "must not be negative", also(kSliceGrad, "src_shape", Ints{4, -5})},
           {"isobit.SliceGrad", {f32({2, 3})}, "expected [2, 2]", kSliceGrad},
           {"isobit.SliceGrad",
            {f32({1})},
            "over the limit of",
            {{"starts", Ints{0}}, {"counts", Ints{1}}, {"steps", Ints{1}}, {"src_shape", Ints{int64_t{1} << 62}}}},
           {"Split", {x}, "axis 2 is outside a tensor of rank 2", with("axis", int64_t{2})},
           {"Split", {x}, "'num_outputs' is 2, the node has 1 outputs", with("num_outputs", int64_t{2})},
           {"Split", {x}, "found 2 sizes of parts, expected 1", with("split", Ints{2, 2})},
           {"Split", {x}, "a part of size -4", with("split", Ints{-4})},
           {"Split", {x}, "the parts have 3 elements, the axis has 4", with("split", Ints{3})},
       }) {
    all.push_back(r);
  }
}

void refused_pads(std::vector<Refused>& all) {
  const Type x = f32({4, 5});
  const Attributes pad = {{"pads", Ints{0, 1, 2, 3}}};
  const auto mode = [](const char* name) { return Attribute(std::string(name)); };
  for (const Refused& r : std::vector<Refused>{
           {"Pad", {x}, "'pads' is neither an attribute nor an input"},
           {"Pad", {x}, "found 2 pads, expected 2 for each of 2 axes", with("pads", Ints{1, 1})},
           {"Pad", {x}, "axis 1 is named twice", also(pad, "axes", Ints{1, 1})},
           {"Pad", {x}, "a pad of 1152921504606846977", with("pads", Ints{0, (int64_t{1} << 60) + 1, 0, 0})},
           {"Pad", {x}, "a pad of -9223372036854775808", with("pads", Ints{0, INT64_MIN, 0, 0})},
           {"Pad", {x}, "axis 0 of 4 elements cannot be padded by -3 and -2", with("pads", Ints{-3, 0, -2, 0})},
           {"Pad", {f32({INT64_MAX})}, "cannot be padded by 1 and 0", with("pads", Ints{1, 0})},
           {"Pad", {x}, "dimensions overflow", with("pads", Ints{kHuge, kHuge, 0, 0})},
           {"Pad", {x}, "is none of 'constant', 'reflect', 'edge' and 'wrap'", also(pad, "mode", mode("mirror"))},
           {"Pad",
            {x},
            "nothing is left of axis 0 to pad with",
            {{"pads", Ints{-4, 0, 1, 0}}, {"mode", mode("reflect")}}},
           {"Pad", {x, i64({4}), f64({})}, "has type float64, expected float32"},
           {"Pad", {x, i64({4}), f32({2})}, "expected [1]"},
           {"isobit.PadGrad", {i64({4})}, "expected float32 or float64", kPadGrad},
           {"isobit.PadGrad", {f32({3})}, "expected [4]", kPadGrad},
           {"isobit.PadGrad", {f32({4})}, "mode 'constant' has no sums", also(kPadGrad, "mode", mode("constant"))},
           {"isobit.PadGrad", {f32({4})}, "must not be negative", also(kPadGrad, "src_shape", Ints{-3})},
           {"isobit.PadGrad", {f32({4})}, "expected 2 for each of 1 axes", also(kPadGrad, "pads", Ints{1})},
           {"CenterCropPad", {x}, "'shape' is neither an attribute nor an input"},
           {"CenterCropPad", {x}, "found 1 extents, expected one for each of 2 axes", with("shape", Ints{3})},
           {"CenterCropPad", {x}, "an extent of -1", with("shape", Ints{-1, 2})},
           {"CenterCropPad", {x}, "a pad of 2305843009213693950", with("shape", Ints{int64_t{1} << 62, 1})},
           {"CenterCropPad", {x}, "axis 2 is outside", {{"shape", Ints{1}}, {"axes", Ints{2}}}},
       }) {
    all.push_back(r);
  }
}

}  // namespace

void add_refused_movement(std::vector<Refused>& all) {
  refused_shapes(all);
  refused_slices(all);
  refused_pads(all);
}

void add_accepted_movement(std::vector<Accepted>& all) {
  const Type x = f32({2, 3}), half = {DType::kFloat16, {2, 3}}, unknown = f32({-1, -1});
  const Attributes reflect = {{"pads", Ints{1, 9, -1, 0}}, {"mode", std::string("reflect")}};
  for (const Accepted& a : std::vector<Accepted>{
           {"Transpose", {half}, {{DType::kFloat16, {3, 2}}}},
           {"Flatten", {f32({2, 3, 4})}, {f32({6, 4})}, with("axis", int64_t{-1})},
           {"Reshape", {x, i64({2})}, {unknown}},
           {"Reshape", {f32({0, 3})}, {f32({3, 0})}, {{"shape", Ints{3, 0}}, {"allowzero", int64_t{1}}}},
           {"Squeeze", {f32({1, 3, 1})}, {f32({3})}},
           {"Squeeze", {f32({1, 3, 1})}, {f32({1, 3})}, with("axes", Ints{-1})},
           {"Squeeze", {f32({1, 3, 1}), i64({2})}, {f32({-1})}},
           {"Unsqueeze", {x}, {f32({2, 1, 3, 1})}, with("axes", Ints{-1, 1})},
           {"Unsqueeze", {x, i64({})}, {f32({-1, -1, -1})}},
           {"Expand", {x, i64({3})}, {f32({-1, -1, -1})}},
           {"Tile", {x}, {f32({2, 6})}, with("repeats", Ints{1, 2})},
           {"Tile", {x}, {f32({0, 3})}, with("repeats", Ints{0, 1})},
           {"Tile", {x, i32({2})}, {unknown}},
           {"DepthToSpace", {f32({1, 8, 2, 3})}, {f32({1, 2, 4, 6})}, with("blocksize", int64_t{2})},
           {"SpaceToDepth", {f32({1, 2, 4, 6})}, {f32({1, 8, 2, 3})}, with("blocksize", int64_t{2})},
           {"ReverseSequence", {x, i64({3})}, {x}},
           {"Trilu", {x, i64({})}, {x}, with("upper", int64_t{0})},
           {"Slice",
            {x},
            {f32({2, 1})},
            {{"starts", Ints{-1}}, {"ends", Ints{0}}, {"axes", Ints{1}}, {"steps", Ints{-2}}}},
           {"Slice", {x}, {f32({0, 3})}, {{"starts", Ints{9}}, {"ends", Ints{INT64_MAX}}}},
           {"Slice", {x, i64({1}), i64({1})}, {unknown}},
           {"Slice", {x, i64({1}), i64({1})}, {f32({2, -1})}, with("axes", Ints{1})},
           {"Slice", {x, i64({1}), i64({1}), i64({1})}, {unknown}, with("steps", Ints{1})},
           {"isobit.SliceGrad", {f32({2, 2})}, {f32({4, 5})}, kSliceGrad},
           {"Split", {x}, {f32({2, 1}), f32({2, 2})}, {{"axis", int64_t{-1}}, {"split", Ints{1, 2}}}},
           {"Split", {f32({7})}, {f32({3}), f32({3}), f32({1})}, with("num_outputs", int64_t{3})},
           {"Split", {x, i64({2})}, {f32({-1, 3}), f32({-1, 3})}},
           {"Pad", {x}, {f32({3, 2})}, with("pads", Ints{1, -2, 0, 1})},
           {"Pad", {x}, {f32({2, 6})}, {{"pads", Ints{1, 2}}, {"axes", Ints{-1}}}},
           {"Pad", {x}, {f32({2, 12})}, reflect},
           {"Pad", {x, i64({4}), f32({1})}, {unknown}},
           {"isobit.PadGrad", {f32({4})}, {f32({3})}, kPadGrad},
           {"CenterCropPad", {x}, {f32({1, 8})}, with("shape", Ints{1, 8})},
           {"CenterCropPad", {x, i64({1})}, {unknown}, with("axes", Ints{0})},
       }) {
    all.push_back(a);
  }
}

}  // namespace isobit::graph
