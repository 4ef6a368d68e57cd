#include "isobit/judge/fold.h"

#include <limits>
#include <type_traits>

#include "isobit/base/status.h"
#include "isobit/judge/words.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::judge {
namespace {

using runtime::Fold;

constexpr int64_t kSumChunk = 256;  // terms of a chunk of numerics::sum_ordered_f64

template <class T>
constexpr bool kIsReal = std::is_floating_point_v<T>;

bool is_sum(Fold fold) {
  return fold == Fold::kSum || fold == Fold::kSumFromZero || fold == Fold::kMean || fold == Fold::kExactMean ||
         fold == Fold::kVariance || fold == Fold::kSquares;
}

// Integers by way of 64 bits without a sign, which wrap.
template <class T>
T plus(T a, T b) {
  if constexpr (kIsReal<T>) return a + b;
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
T times(T a, T b) {
  if constexpr (kIsReal<T>) return a * b;
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class T>
bool is_greater(T a, T b) {
  if constexpr (kIsReal<T>) return kernels::reference::greater(a, b);
  return a > b;
}

// In the order of reduce_min, where a NaN is the least.
template <class T>
bool is_less(T a, T b) {
  if constexpr (kIsReal<T>) {
    if (a != a || b != b) return a != a && b == b;
    return numerics::ordinal(a) < numerics::ordinal(b);
  }
  return a < b;
}

template <class T>
T greatest() {
  using L = std::numeric_limits<T>;
  return L::has_infinity ? L::infinity() : L::max();
}
template <class T>
T least() {
  using L = std::numeric_limits<T>;
  return L::has_infinity ? -L::infinity() : L::lowest();
}

}  // namespace

template <class T>
FoldState<T>::FoldState(Fold fold, T mean) : fold_(fold), mean_(mean) {
  begin();
}

template <class T>
void FoldState<T>::begin() {
  if (fold_ == Fold::kMaximum || fold_ == Fold::kFirstPlace) total_ = least<T>();
  if (fold_ == Fold::kMinimum) total_ = greatest<T>();
  if (fold_ == Fold::kProduct) total_ = T(1);
  // The zero is a term of a chunk.
  if (fold_ == Fold::kSumFromZero && std::is_same_v<T, double>) add_ordered(T(0));
}

template <class T>
bool FoldState<T>::is_exact() const {
  return std::is_same_v<T, float> && is_sum(fold_);
}

template <class T>
void FoldState<T>::add_ordered(T x) {
  chunk_ = plus(chunk_, x);
  if (++filled_ < kSumChunk) return;
  total_ = plus(total_, chunk_);
  chunk_ = T(0);
  filled_ = 0;
}

template <class T>
void FoldState<T>::add(T x) {
  const int64_t place = count_++;
  if constexpr (std::is_same_v<T, float>) {
    if (is_sum(fold_)) {
      if (fold_ != Fold::kSquares) sum_.add(x);
      if (fold_ == Fold::kSquares || fold_ == Fold::kVariance) squares_.add_product(x, x);
      return;
    }
  }
  switch (fold_) {
    case Fold::kSum:
    case Fold::kSumFromZero:
    case Fold::kMean:
    case Fold::kExactMean:
      return add_ordered(x);
    case Fold::kVariance: {
      const T d = x - mean_;
      return add_ordered(times(d, d));
    }
    case Fold::kSquares:
      return add_ordered(times(x, x));
    case Fold::kAdded:
      total_ = tidy(plus(total_, x));
      return;
    case Fold::kMaximum:
    case Fold::kFirstPlace:
      if (place > 0 && !is_greater(x, total_)) return;
      total_ = tidy(x);
      place_ = place;
      return;
    case Fold::kMinimum:
      if (is_less(x, total_)) total_ = tidy(x);
      return;
    case Fold::kProduct:
      total_ = times(total_, x);
      return;
    case Fold::kNone:
      break;
  }
  ISOBIT_CHECK(fold_ != Fold::kNone);
}

template <class T>
T FoldState<T>::value() const {
  if (!is_sum(fold_)) return tidy(total_);
  if constexpr (std::is_same_v<T, float>) {
    switch (fold_) {
      case Fold::kMean:
        return tidy(sum_.rounded() / static_cast<float>(count_));
      case Fold::kExactMean:
        return sum_.rounded_quotient(count_);
      case Fold::kVariance:
        return numerics::variance_of(sum_, squares_, count_);
      case Fold::kSquares:
        return squares_.rounded();
      default:
        return sum_.rounded();
    }
  } else {
    // A chunk that is empty is +0 and changes nothing: totals are never -0.
    const T sum = tidy(filled_ == 0 ? total_ : plus(total_, chunk_));
    if (fold_ != Fold::kMean && fold_ != Fold::kExactMean && fold_ != Fold::kVariance) return sum;
    if constexpr (std::is_signed_v<T> && !kIsReal<T>) return static_cast<T>(static_cast<int64_t>(sum) / count_);
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(sum) / static_cast<uint64_t>(count_));
    }
    return tidy(sum / static_cast<T>(count_));
  }
}

template <class T>
std::vector<uint64_t> FoldState<T>::words() const {
  std::vector<uint64_t> words = {static_cast<uint64_t>(count_)};
  if (is_exact()) {
    append_words(words, sum_);
    append_words(words, squares_);
    return words;
  }
  // Which NaN it is says nothing, and differs between machines.
  words.push_back(word_of(tidy(total_)));
  words.push_back(word_of(tidy(chunk_)));
  words.push_back(static_cast<uint64_t>(filled_));
  words.push_back(static_cast<uint64_t>(place_));
  return words;
}

template <class T>
bool FoldState<T>::restore(const std::vector<uint64_t>& words) {
  if (words.size() != (is_exact() ? 1 + 2 * kExactWords : 5)) return false;
  FoldState<T> state = *this;
  state.count_ = static_cast<int64_t>(words[0]);
  if (state.count_ < 0) return false;
  if (is_exact()) {
    if (!take_words(words, 1, state.sum_) || !take_words(words, 1 + kExactWords, state.squares_)) return false;
  } else {
    state.total_ = from_word<T>(words[1]);
    state.chunk_ = from_word<T>(words[2]);
    state.filled_ = static_cast<int64_t>(words[3]);
    state.place_ = static_cast<int64_t>(words[4]);
    if (state.filled_ < 0 || state.filled_ >= kSumChunk || state.place_ < -1 || state.place_ >= state.count_) {
      return false;
    }
    if (state.words() != words) return false;  // more bits than the type has
  }
  *this = state;
  return true;
}

template class FoldState<float>;
template class FoldState<double>;
template class FoldState<int8_t>;
template class FoldState<int16_t>;
template class FoldState<int32_t>;
template class FoldState<int64_t>;
template class FoldState<uint8_t>;
template class FoldState<uint16_t>;
template class FoldState<uint32_t>;
template class FoldState<uint64_t>;

}  // namespace isobit::judge
