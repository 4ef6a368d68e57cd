// Graphs for the attributes of If, Loop and Scan.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {

using Ids = std::vector<ValueId>;

// A graph over inputs of these types; `build` adds its nodes and returns its outputs.
inline std::shared_ptr<const Graph> inner_graph(const std::vector<Type>& inputs,
                                                const std::function<Ids(Graph&, const Ids&)>& build) {
  Graph g;
  Ids ids;
  for (const Type& t : inputs) ids.push_back(g.add_input("in", t.dtype, t.dims));
  for (const ValueId o : build(g, ids)) g.add_output(o);
  return std::make_shared<const Graph>(std::move(g));
}

inline Type boolean(Ints dims = {}) { return {DType::kBool, std::move(dims)}; }

inline Tensor truth(bool value) {
  Tensor t(DType::kBool, {});
  *static_cast<uint8_t*>(t.raw()) = value ? 1 : 0;
  return t;
}

}  // namespace isobit::graph
