// Operators that move elements to places which data name, and those of shapes and places.
#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::runtime {
namespace {

using Cases = std::vector<OperatorCase>;
using Ints = std::vector<int64_t>;

// More indices than places, so that some place is named twice.
void add_gathers(Cases& cases) {
  const graph::Attributes along = {{"axis", int64_t{1}}, {"src_shape", Ints{4, 3}}};
  cases.push_back({"Gather", {real({3, 4}), index({2}, 4)}, {{"axis", int64_t{-1}}}});
  cases.push_back({"isobit.GatherGrad", {index({2, 2}, 3), real({4, 2, 2})}, along});
  cases.push_back({"GatherElements", {real({3, 2}), index({4, 2}, 3)}});
  cases.push_back({"GatherElements", {real({3, 2}), index({2, 3}, 2)}, {{"axis", int64_t{-1}}}});
  cases.push_back({"isobit.GatherElementsGrad", {index({4, 2}, 3), real({4, 2})}, {{"src_shape", Ints{3, 2}}}});
  cases.push_back({"GatherND", {real({3, 2, 2}), index({4, 1}, 3)}});
  cases.push_back({"GatherND", {real({2, 3, 2}), index({2, 4, 1}, 3)}, {{"batch_dims", int64_t{1}}}});
  cases.push_back({"isobit.GatherNDGrad", {index({4, 1}, 3), real({4, 2})}, {{"src_shape", Ints{3, 2}}}});
  cases.push_back({"isobit.GatherNDGrad",
                   {index({2, 4, 1}, 3), real({2, 4, 2})},
                   {{"batch_dims", int64_t{1}}, {"src_shape", Ints{2, 3, 2}}}});
}

void add_scatters(Cases& cases) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    const graph::Attributes how = {{"reduction", std::string(reduction)}};
    cases.push_back({"ScatterElements", {real({3, 2}), index({4, 2}, 3), real({4, 2})}, how});
    cases.push_back({"ScatterND", {real({4, 2}), index({3, 1}, 4), real({3, 2})}, how});
  }
  cases.push_back({"TensorScatter", {real({2, 3, 5, 2}), real({2, 3, 2, 2}), index({2}, 4)}});
  cases.push_back({"TensorScatter", {real({2, 4, 2}), real({2, 3, 2})}});
  cases.push_back({"TensorScatter",
                   {real({2, 4, 2}), real({2, 3, 2}), integer({2}, 9)},
                   {{"axis", int64_t{1}}, {"mode", std::string("circular")}}});
}

void add_choices(Cases& cases) {
  cases.push_back({"Compress", {real({3, 4}), truth({3})}, {{"axis", int64_t{0}}}});
  cases.push_back({"Compress", {real({3, 2}), truth({5})}});
  cases.push_back({"OneHot", {integer({2, 3}, 5), absent(), real({2})}, {{"depth", int64_t{4}}}});
  cases.push_back({"OneHot", {integer({3}, 9, -4), parameter({4}), real({2})}, {{"axis", int64_t{0}}}});
  cases.push_back({"NonZero", {truth({3, 4})}});
  cases.push_back({"NonZero", {real({2, 2})}});
  cases.push_back({"Unique", {real({5})}});
  cases.push_back({"Unique", {real({3, 2})}, {{"axis", int64_t{-1}}, {"sorted", int64_t{0}}}});
  for (int64_t sorted : {0, 1}) cases.push_back({"Unique", {integer({6}, 3)}, {{"sorted", sorted}}});
}

void add_extents(Cases& cases) {
  cases.push_back({"Shape", {real({2, 3})}});
  cases.push_back({"Shape", {real({2, 3})}, {{"start", int64_t{-1}}, {"end", int64_t{9}}}});
  cases.push_back({"Size", {real({2, 3})}});
  cases.push_back({"EyeLike", {real({3, 4})}, {{"k", int64_t{1}}}});
  cases.push_back({"ConstantOfShape", {}, {{"shape", Ints{2, 3}}, {"value", Tensor::scalar(2.5f)}}});
  cases.push_back({"ConstantOfShape", {parameter({2, 3})}});
  cases.push_back({"Range", {integer({}, 3), integer({}, 9, 5), integer({1}, 2, 1)}});
}

}  // namespace

void add_indexing_cases(Cases& cases) {
  add_gathers(cases);
  add_scatters(cases);
  add_choices(cases);
  add_extents(cases);
}

}  // namespace isobit::runtime
