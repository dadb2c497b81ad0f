// A platform file to start from: every key with its meaning, for a machine of one's own.
#pragma once

#include <cstdint>
#include <string>

namespace fourfold::inline platforms::inline file {

struct TemplateShape {
  std::string network = "fat-tree";
  std::int64_t devices = 8;  // of a node
  std::int64_t nics = 0;     // of a node; 0: one a device
  std::int64_t nodes = 128;
};

// A complete and valid file for a machine of that shape. Numbers are typical ones and unconfirmed;
// what is optional stands behind a #. Throws std::invalid_argument on an unknown kind of network,
// and on more NICs than devices.
std::string platform_template(const TemplateShape& shape);

}  // namespace fourfold::inline platforms::inline file
