// How integers are computed with: modulo 2^bits.
#pragma once

#include <type_traits>

namespace isobit::kernels {

// The type to add and multiply numbers of type T in, no narrower than unsigned: the product of two uint16_t would be
// one of int, which may overflow.
template <class T>
using Modular = decltype(std::make_unsigned_t<T>{} + 0U);

}  // namespace isobit::kernels
