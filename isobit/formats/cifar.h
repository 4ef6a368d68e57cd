// CIFAR-10's binary version (www.cs.toronto.edu/~kriz/cifar.html): records of one label byte and 3072 pixel bytes, the
// red, green and blue planes of 32x32, row by row.
#pragma once

#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::formats {

struct CifarRecords {
  Tensor images;  // uint8 [n, 3, 32, 32]
  Tensor labels;  // uint8 [n], 0 to 9
};

// kUnreadable unless data is a whole number of records, at least one, with labels 0 to 9.
Expected<CifarRecords> decode_cifar10(ByteView data, const std::string& name);

// The inverse, for tests and fuzz targets. REQUIRES the shapes and types above.
Bytes encode_cifar10(const CifarRecords& records);

}  // namespace isobit::formats
