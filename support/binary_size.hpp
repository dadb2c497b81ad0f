// Sizes of messages and buffers in powers of 1024, as people write them.
#pragma once

#include <cstdint>
#include <string>

namespace fourfold::inline support {

// "64 KiB", "1.5 MiB", and the other way: 65536, 64KiB, 64K. Throws std::invalid_argument.
std::string size_text(double bytes);
std::int64_t size_from_text(const std::string& text);

}  // namespace fourfold::inline support
