// What a phase keeps for later ones beside weights, on this rank: keys and values of the tokens
// that were read, by the name of the value. Executors that share it see what the others have
// written.
#pragma once

#include <map>
#include <string>

#include "engine/backend.hpp"

namespace fourfold::inline engine {

class Caches {
 public:
  // The device must outlive it.
  explicit Caches(DeviceMemory& device) : device_(device) {}

  // The block of that name, made when it is first asked for with the extents and the precision of
  // `like`; its numbers are whatever was there. Throws std::invalid_argument if others have asked
  // for it otherwise.
  Tensor block(const std::string& name, const Tensor& like);
  std::int64_t bytes() const;

 private:
  struct Kept {
    DeviceBlock memory;
    Tensor block;
  };
  DeviceMemory& device_;
  std::map<std::string, Kept> kept_;
};

}  // namespace fourfold::inline engine
