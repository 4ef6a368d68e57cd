// Where the bytes of a tensor lie: on the host, where every kernel of ours computes, or on a device of some backend,
// whose bytes only the backend can reach. Nothing is copied between the two unless somebody says so.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "isobit/base/bytes.h"

namespace isobit {

// Outlives every tensor on it. Known by its address.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  // `bytes` (at least 1) on the device, freed with the last who holds them. The host may not follow the address. Throws
  // std::bad_alloc when there is no room.
  virtual std::shared_ptr<uint8_t[]> allocate(size_t bytes) = 0;
  // Between the host and what allocate gave, or a part of it. Done when they return.
  virtual void copy_in(uint8_t* to, ByteView from) = 0;
  virtual void copy_out(std::span<uint8_t> to, const uint8_t* from) const = 0;
};

// The memory of this process: its addresses may be followed.
Device& host();

}  // namespace isobit
