// An element of many terms chunk by chunk: its terms in their order, at most kMostTerms at a time, and the state of the
// sum between two chunks. Two parties who disagree on such an element disagree on a state; bisected over the chunks
// that comes down to one chunk, with the state before it agreed and the one behind it not, and a referee adds up that
// chunk alone.
//
// A state is words that say everything of the sum so far and nothing else, the same on every machine: of floats an
// exact sum, of doubles and of inner products in the written order the running values of that order, of an extreme the
// extreme. Chunks end where those of the written order do, unless one of these has more than kMostTerms by itself.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "isobit/judge/judge.h"

namespace isobit::judge {

using State = std::vector<uint64_t>;

class Reduction {
 public:
  static constexpr int64_t kMostTerms = 1024;

  // Of an element that is a sum of terms, an extreme or a product of them; the question must outlive it. kUnreadable as
  // needs_of, and for an element that is no such thing.
  static Expected<std::unique_ptr<Reduction>> of(const Question& q, const platform::Arithmetic& arithmetic);
  virtual ~Reduction() = default;

  virtual int64_t terms() const = 0;
  virtual int64_t chunks() const = 0;
  virtual int64_t chunk_begin(int64_t chunk) const = 0;  // its first term
  // What is taken once: by every term, or behind the last one. Needed by all that follows.
  virtual std::vector<graph::ElementSource> once() const = 0;
  // What the terms of a chunk take, in their order. All chunks' one after the other, with what is taken once, are
  // needs_of the element.
  virtual std::vector<graph::ElementSource> needs(int64_t chunk) const = 0;

  // Before the first chunk.
  virtual State begin(std::span<const Bits> once) const = 0;
  // Behind the chunk, from the state before it. kUnreadable for another number of values than needs of the chunk, and
  // for words that are no state there: those of another number of terms, or none at all.
  virtual Expected<State> partial(std::span<const Bits> once, int64_t chunk, std::span<const Bits> values,
                                  const State& before) const = 0;
  // The element's bits, from the state behind the last chunk. kUnreadable as above.
  virtual Expected<Bits> finish(std::span<const Bits> once, const State& behind) const = 0;
};

}  // namespace isobit::judge
