// Nodes that shape inference must refuse, each with a part of the message: every way of every operator. And nodes that
// it takes, with the types of their outputs.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/op.h"

namespace isobit::graph {

using Ints = std::vector<int64_t>;

struct Type {
  DType dtype;
  Ints dims;
  bool operator==(const Type&) const = default;
};
inline Type f32(Ints dims) { return {DType::kFloat32, std::move(dims)}; }
inline Type f64(Ints dims) { return {DType::kFloat64, std::move(dims)}; }
inline Type i64(Ints dims) { return {DType::kInt64, std::move(dims)}; }
inline Type i32(Ints dims) { return {DType::kInt32, std::move(dims)}; }

struct Refused {
  std::string op;
  std::vector<Type> inputs;
  std::string message;  // part of it
  Attributes attributes = {};
};

struct Accepted {
  std::string op;
  std::vector<Type> inputs;
  std::vector<Type> outputs;
  Attributes attributes = {};
};

std::vector<Refused> refused_nodes();
void add_refused_control(std::vector<Refused>& all);
void add_refused_reductions(std::vector<Refused>& all);
void add_accepted_control(std::vector<Accepted>& all);
void add_accepted_reductions(std::vector<Accepted>& all);
void add_refused_elementwise(std::vector<Refused>& all);
void add_accepted_elementwise(std::vector<Accepted>& all);
void add_refused_movement(std::vector<Refused>& all);
void add_accepted_movement(std::vector<Accepted>& all);
void add_refused_indexing(std::vector<Refused>& all);
void add_accepted_indexing(std::vector<Accepted>& all);
void add_refused_windows(std::vector<Refused>& all);
void add_accepted_windows(std::vector<Accepted>& all);
void add_refused_composite(std::vector<Refused>& all);
void add_refused_gradients(std::vector<Refused>& all);
void add_accepted_gradients(std::vector<Accepted>& all);
void add_accepted_composite(std::vector<Accepted>& all);

}  // namespace isobit::graph
