#include "isobit/graph/expansions/einsum.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/expansions/einsum_equation.h"

namespace isobit::graph::expansions {
namespace {

using Labels = std::vector<EinsumLabel>;

// A tensor and the label of each of its axes.
struct Operand {
  ValueId value = kNoValue;
  Labels labels;
};

bool has(const Labels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int place_of(const Labels& labels, EinsumLabel label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The labels of `of` for which the condition holds, in their order.
template <class Condition>
Labels those(const Labels& of, Condition condition) {
  Labels kept;
  std::copy_if(of.begin(), of.end(), std::back_inserter(kept), condition);
  return kept;
}

class Einsum {
 public:
  Einsum(Graph& graph, const EinsumArguments& arguments) : b_(graph, "Einsum", arguments.name), a_(arguments) {}

  Expected<std::vector<ValueId>> expand() {
    if (!read()) return b_.finish({});
    for (Operand& operand : operands_) take_diagonals(operand);
    drop_extents_of_one();
    while (operands_.size() > 1 && !b_.failed()) {
      Operand product = contracted(operands_[0], operands_[1]);
      operands_.erase(operands_.begin());
      operands_[0] = std::move(product);
    }
    if (b_.failed()) return b_.finish({});
    const Operand last = summed_to(operands_[0], output_);
    const ValueId y = in_order(last, output_, "y");
    return b_.finish({y == a_.operands[0] ? b_.unary("Identity", y, "y") : y});
  }

 private:
  bool read() {
    b_.require(!a_.operands.empty(), "there are no operands");
    // Each is looked at again for every one before it.
    constexpr size_t kMostOperands = 256;
    b_.require(a_.operands.size() <= kMostOperands,
               text_of(a_.operands.size(), " operands, expected at most ", kMostOperands));
    if (b_.failed()) return false;
    std::vector<int> ranks;
    for (ValueId v : a_.operands) {
      b_.require_ranks({v});
      b_.require(v != kNoValue && b_.dtype(v) == b_.dtype(a_.operands[0]), "the operands differ in type");
      b_.require(b_.is_float(v) || b_.is_integer(v), "the operands are no numbers");
      ranks.push_back(b_.rank(v));
    }
    if (b_.failed()) return false;
    auto equation = parse_einsum(a_.equation, ranks);
    if (!equation) return b_.require(false, equation.error().message);
    for (size_t i = 0; i < a_.operands.size(); ++i) operands_.push_back({a_.operands[i], equation->operands[i]});
    output_ = std::move(equation->output);
    return check_extents();
  }

  // Every label has one extent, but for 1 and what is not known; and kernels number axes up to 64.
  bool check_extents() {
    std::map<EinsumLabel, int64_t> extents;
    for (const Operand& o : operands_) {
      for (size_t i = 0; i < o.labels.size(); ++i) {
        const int64_t found = b_.dim(o.value, static_cast<int>(i));
        int64_t& extent = extents.emplace(o.labels[i], 1).first->second;
        b_.require(found < 0 || found == 1 || extent < 0 || extent == 1 || found == extent,
                   text_of("extents of ", extent, " and ", found, " under one letter"));
        if (extent == 1 || found > 1) extent = found;
      }
    }
    return b_.require(extents.size() < 64, text_of(extents.size(), " letters, expected fewer than 64"));
  }

  int64_t extent_of(const Operand& o, EinsumLabel label) { return b_.dim(o.value, place_of(o.labels, label)); }

  // Of a square [.., n, n] every (n + 1)-th element of its rows one behind the other.
  void take_diagonals(Operand& o) {
    for (size_t first = 0; first < o.labels.size() && !b_.failed();) {
      const auto again =
          std::find(o.labels.begin() + static_cast<std::ptrdiff_t>(first) + 1, o.labels.end(), o.labels[first]);
      if (again == o.labels.end()) {
        ++first;
        continue;
      }
      const int p = static_cast<int>(first), q = static_cast<int>(again - o.labels.begin());
      const int rank = b_.rank(o.value);
      const int64_t n = b_.dim(o.value, p);
      if (!b_.require(n >= 0 && n == b_.dim(o.value, q),
                      "a letter that an operand has twice needs one extent, known before the run")) {
        return;
      }
      std::vector<int64_t> order;
      Labels labels;
      for (int axis = 0; axis < rank; ++axis) {
        if (axis == p || axis == q) continue;
        order.push_back(axis);
        labels.push_back(o.labels[static_cast<size_t>(axis)]);
      }
      order.insert(order.end(), {p, q});
      labels.push_back(o.labels[first]);
      const int64_t square = b_.times(n, n);
      const ValueId rows = b_.reshape_to(b_.transpose(o.value, order, "square"), {square}, "rows", rank - 2);
      o = {b_.slice(rows, rank - 2, 0, square, n + 1, "diagonal"), labels};
      first = 0;
    }
  }

  void drop_extents_of_one() {
    for (size_t i = 0; i < operands_.size(); ++i) {
      Operand& o = operands_[i];
      const Labels dropped = those(o.labels, [&](EinsumLabel label) {
        if (extent_of(o, label) != 1) return false;
        return std::any_of(operands_.begin(), operands_.end(), [&](const Operand& other) {
          return has(other.labels, label) && extent_of(other, label) != 1;
        });
      });
      if (dropped.empty()) continue;
      std::vector<int64_t> axes;
      for (EinsumLabel label : dropped) axes.push_back(place_of(o.labels, label));
      o = {b_.squeeze(o.value, axes, "operand"),
           those(o.labels, [&](EinsumLabel label) { return !has(dropped, label); })};
    }
  }

  Operand summed_to(const Operand& o, const Labels& kept) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < o.labels.size(); ++i) {
      if (!has(kept, o.labels[i])) axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.empty()) return o;
    return {b_.reduce("ReduceSum", o.value, axes, false, "summed"),
            those(o.labels, [&](EinsumLabel label) { return has(kept, label); })};
  }

  // REQUIRES that the labels are those of o.
  ValueId in_order(const Operand& o, const Labels& labels, const std::string& what) {
    std::vector<int64_t> permutation;
    for (EinsumLabel label : labels) permutation.push_back(place_of(o.labels, label));
    return b_.transpose(o.value, permutation, what);
  }

  // The labels of the output and of every operand behind the first two.
  Labels still_needed() const {
    Labels labels = output_;
    for (size_t i = 2; i < operands_.size(); ++i) labels = joined({labels, operands_[i].labels});
    return labels;
  }

  struct Parts {
    Labels batch, inner, only_a, only_b;
  };

  Operand contracted(const Operand& a_whole, const Operand& b_whole) {
    const Labels needed = still_needed();
    const Operand a = summed_to(a_whole, joined({needed, b_whole.labels}));
    const Operand b = summed_to(b_whole, joined({needed, a_whole.labels}));
    const Parts parts = {
        .batch = those(a.labels, [&](EinsumLabel l) { return has(b.labels, l) && has(needed, l); }),
        .inner = those(a.labels, [&](EinsumLabel l) { return has(b.labels, l) && !has(needed, l); }),
        .only_a = those(a.labels, [&](EinsumLabel l) { return !has(b.labels, l); }),
        .only_b = those(b.labels, [&](EinsumLabel l) { return !has(a.labels, l); }),
    };
    return parts.inner.empty() || !b_.is_float(a.value) ? multiplied(a, b, parts) : matrix_product(a, b, parts);
  }

  // Axes of extent 1 stand where the other operand has labels of its own.
  Operand multiplied(const Operand& a, const Operand& b, const Parts& parts) {
    const Labels all = joined({parts.batch, parts.inner, parts.only_a, parts.only_b});
    const auto spread = [&](const Operand& o, const std::string& what) {
      std::vector<int64_t> absent;
      for (size_t i = 0; i < all.size(); ++i) {
        if (!has(o.labels, all[i])) absent.push_back(static_cast<int64_t>(i));
      }
      const ValueId ordered = in_order(o, those(all, [&](EinsumLabel l) { return has(o.labels, l); }), what);
      return absent.empty() ? ordered : b_.unsqueeze(ordered, absent, what);
    };
    const Operand product = {b_.mul(spread(a, "left"), spread(b, "right"), "product"), all};
    return summed_to(product, joined({parts.batch, parts.only_a, parts.only_b}));
  }

  // The product of extents of some labels of o; -1 when one is not known.
  int64_t size_of_group(const Operand& o, const Labels& group) {
    int64_t size = 1;
    for (EinsumLabel label : group) size = b_.times(size, extent_of(o, label));
    return size;
  }

  // o as matrices [batch.., rows, columns], each of the two being several labels or none.
  ValueId as_matrices(const Operand& o, const Labels& batch, const Labels& rows, const Labels& columns,
                      const std::string& what) {
    const ValueId ordered = in_order(o, joined({batch, rows, columns}), what);
    if (rows.size() == 1 && columns.size() == 1) return ordered;
    const int64_t height = size_of_group(o, rows), width = size_of_group(o, columns);
    if (!b_.require(height >= 0 || width >= 0,
                    "letters that become an axis of a matrix are not known before the run")) {
      return kNoValue;
    }
    return b_.reshape_to(ordered, {height, width}, what, static_cast<int>(batch.size()));
  }

  Operand matrix_product(const Operand& a, const Operand& b, const Parts& parts) {
    const bool a_turned = a.labels == joined({parts.batch, parts.inner, parts.only_a});
    const bool b_turned = b.labels == joined({parts.batch, parts.only_b, parts.inner});
    const ValueId left = a_turned ? as_matrices(a, parts.batch, parts.inner, parts.only_a, "left")
                                  : as_matrices(a, parts.batch, parts.only_a, parts.inner, "left");
    const ValueId right = b_turned ? as_matrices(b, parts.batch, parts.only_b, parts.inner, "right")
                                   : as_matrices(b, parts.batch, parts.inner, parts.only_b, "right");
    Attributes turned;
    if (a_turned) turned.set("transA", int64_t{1});
    if (b_turned) turned.set("transB", int64_t{1});
    const ValueId product = b_.node("MatMul", {left, right}, std::move(turned), "product");
    std::vector<int64_t> extents;
    for (EinsumLabel label : parts.only_a) extents.push_back(extent_of(a, label));
    for (EinsumLabel label : parts.only_b) extents.push_back(extent_of(b, label));
    const Labels labels = joined({parts.batch, parts.only_a, parts.only_b});
    if (parts.only_a.size() == 1 && parts.only_b.size() == 1) return {product, labels};
    b_.require(std::count(extents.begin(), extents.end(), -1) <= 1,
               "letters of an axis of a matrix are not known before the run");
    return {b_.reshape_to(product, extents, "product", static_cast<int>(parts.batch.size())), labels};
  }

  Builder b_;
  const EinsumArguments& a_;
  std::vector<Operand> operands_;
  Labels output_;
};

}  // namespace

Expected<std::vector<ValueId>> einsum(Graph& graph, const EinsumArguments& arguments) {
  return Einsum(graph, arguments).expand();
}

}  // namespace isobit::graph::expansions
