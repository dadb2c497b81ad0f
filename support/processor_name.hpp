// What the operating system calls the processor, for records and logs.
#pragma once

#include <optional>
#include <string>

namespace fourfold {

// None if it does not say.
std::optional<std::string> processor_name();

}  // namespace fourfold
