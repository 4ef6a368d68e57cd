// Convolutions as the operators that there are: along one or two axes an inner product of their own, along three the
// same for every depth.
//
// Each function appends to the graph what an operator of ONNX is made of and returns its one result. Attributes are
// those of the operator's newest version; src and weights have one type, float32 or float64, and ranks that are known
// before the run. Errors (kUnreadable): what does not fit; after one the graph has some of the nodes and is of no use.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

struct ConvolutionArguments {
  std::string name;  // of the result; names of values between begin with it
  ValueId src = kNoValue, weights = kNoValue;
  ValueId bias = kNoValue;  // one number for each channel of the result
  Attributes attributes = {};
};

// ONNX Conv. Along one or two axes a node Conv. Along three ([n, c, d, h, w]; all of these but n are known): the planes
// under the taps in depth become channels (isobit.Im2Col with a window of kd x 1 x 1), depths become images, and these
// are convolved in two dimensions with the weights [oc, c / group * kd, kh, kw]: each element is one inner product as
// ever, whose terms come in the order of the channels (c, kd).
Expected<std::vector<ValueId>> conv(Graph& graph, const ConvolutionArguments& arguments);

// ONNX ConvTranspose: a node ConvTranspose, and the bias added to it. Along three axes: in two dimensions, with the
// depths of the source as images and weights [c, oc / group * kd, kh, kw]; what the taps in depth put on one place is
// added up (Col2Im), a sum of at most kd inner products, each rounded.
Expected<std::vector<ValueId>> conv_transpose(Graph& graph, const ConvolutionArguments& arguments);

struct DeformConvArguments {
  std::string name;
  ValueId src = kNoValue, weights = kNoValue, offset = kNoValue;
  ValueId bias = kNoValue, mask = kNoValue;
  Attributes attributes = {};
};

// ONNX DeformConv in two dimensions: the source sampled under every tap (isobit.DeformIm2Col), and a matrix product
// with the weights. The places of the result are known, the images need not be.
Expected<std::vector<ValueId>> deform_conv(Graph& graph, const DeformConvArguments& arguments);

}  // namespace isobit::graph::expansions
