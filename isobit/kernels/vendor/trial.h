// What a vendor's product has to show before it is believed, and its fingerprint.
#pragma once

#include "isobit/base/bytes.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::kernels::vendor {

// Small products in every transposition with padded leading dimensions and NaN in the destination, within the bound of
// a classical sum; and one large enough for all threads whose results are subnormal and must be exact.
Status try_products(MatrixProduct& product);

// The 257 x 257 x 257 products and their errors; kUnavailable when one is outside the bound.
Expected<VendorProbe> fingerprint(MatrixProduct& product);

Bytes encode(const VendorProbe& probe);
Expected<VendorProbe> decode(ByteView bytes);

}  // namespace isobit::kernels::vendor
