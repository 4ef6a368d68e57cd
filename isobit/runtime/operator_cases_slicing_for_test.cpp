// Operators that move elements to places which their parameters name.
#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::runtime {
namespace {

using Cases = std::vector<OperatorCase>;
using Ints = std::vector<int64_t>;

void add_other_shapes(Cases& cases) {
  cases.push_back({"Transpose", {real({2, 3, 4})}});
  cases.push_back({"Flatten", {real({2, 3, 2})}, {{"axis", int64_t{-1}}}});
  cases.push_back({"Reshape", {real({2, 6}), parameter({3, -1})}});
  cases.push_back({"Reshape", {real({0, 3})}, {{"shape", Ints{3, 0}}, {"allowzero", int64_t{1}}}});
  cases.push_back({"Squeeze", {real({1, 3, 1})}});
  cases.push_back({"Squeeze", {real({1, 3, 1})}, {{"axes", Ints{-1}}}});
  cases.push_back({"Squeeze", {real({1, 3, 1}), parameter({2, 0})}});
  cases.push_back({"Unsqueeze", {real({3, 2})}, {{"axes", Ints{-1, 1}}}});
  cases.push_back({"Unsqueeze", {real({3, 2}), parameter({1})}});
  cases.push_back({"Expand", {real({3, 1}), parameter({2, 1, 2})}});
  cases.push_back({"Tile", {real({2, 3})}, {{"repeats", Ints{1, 2}}}});
  cases.push_back({"Tile", {real({2, 3}), parameter({2, 1})}});
}

void add_permutations(Cases& cases) {
  for (const char* mode : {"DCR", "CRD"}) {
    cases.push_back({"DepthToSpace", {real({1, 8, 2, 1})}, {{"blocksize", int64_t{2}}, {"mode", std::string(mode)}}});
  }
  cases.push_back({"SpaceToDepth", {real({1, 2, 4, 2})}, {{"blocksize", int64_t{2}}}});
  cases.push_back({"ReverseSequence", {real({4, 3, 2}), given({3}, {2, 4, 0})}});
  cases.push_back(
      {"ReverseSequence", {real({3, 4}), index({3}, 5)}, {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}});
  cases.push_back({"Trilu", {real({2, 3, 4})}});
  cases.push_back({"Trilu", {real({3, 4})}, {{"k", int64_t{1}}, {"upper", int64_t{0}}}});
  cases.push_back({"Trilu", {real({3, 4}), parameter({-1})}});
}

void add_slices(Cases& cases) {
  cases.push_back({"Slice",
                   {real({4, 5})},
                   {{"starts", Ints{-1, 1}}, {"ends", Ints{-100, 5}}, {"axes", Ints{0, -1}}, {"steps", Ints{-2, 2}}}});
  cases.push_back({"Slice", {real({4, 5})}, {{"starts", Ints{1}}, {"ends", Ints{INT64_MAX}}}});
  cases.push_back(
      {"Slice", {real({4, 5}), parameter({1, 0}), parameter({3, 5}), parameter({1, 0}), parameter({1, 2})}});
  cases.push_back({"Slice", {real({4, 5}), parameter({3}), parameter({0}), absent(), parameter({-1})}});
  cases.push_back(
      {"isobit.SliceGrad",
       {real({2, 2})},
       {{"starts", Ints{3, 1}}, {"counts", Ints{2, 2}}, {"steps", Ints{-2, 2}}, {"src_shape", Ints{4, 5}}}});
  cases.push_back({"Split", {real({2, 6})}, {{"axis", int64_t{1}}, {"split", Ints{1, 2, 3}}}, 3});
  cases.push_back({"Split", {real({5})}, {{"num_outputs", int64_t{2}}}, 2});
  cases.push_back({"Split", {real({4}), parameter({1, 3})}, {}, 2});
}

void add_pads(Cases& cases) {
  cases.push_back({"Pad", {real({2, 3}), absent(), real({})}, {{"pads", Ints{1, -1, 0, 2}}}});
  cases.push_back({"Pad", {real({2, 3})}, {{"pads", Ints{1, 2}}, {"axes", Ints{-1}}}});
  cases.push_back({"Pad", {real({2, 3}), parameter({1, 1}), real({1}), parameter({1})}});
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    const Ints pads = {1, 3, 2, -1};
    cases.push_back({"Pad", {real({3, 4})}, {{"pads", pads}, {"mode", std::string(mode)}}});
    cases.push_back(
        {"isobit.PadGrad", {real({6, 6})}, {{"pads", pads}, {"mode", std::string(mode)}, {"src_shape", Ints{3, 4}}}});
  }
  cases.push_back({"CenterCropPad", {real({4, 5})}, {{"shape", Ints{1, 6}}}});
  cases.push_back({"CenterCropPad", {real({4, 5}), parameter({3})}, {{"axes", Ints{-1}}}});
}

}  // namespace

void add_slicing_cases(Cases& cases) {
  add_other_shapes(cases);
  add_permutations(cases);
  add_slices(cases);
  add_pads(cases);
}

}  // namespace isobit::runtime
