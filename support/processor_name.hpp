// What the operating system calls the processor, for records and logs, and whether it is a virtual
// one.
#pragma once

#include <optional>
#include <string>

namespace fourfold::inline support {

// None if it does not say.
std::optional<std::string> processor_name();
// The same for records and logs: "unknown processor" then.
std::string recorded_processor();

// The first processor's "flags" in a text like /proc/cpuinfo have "hypervisor": a host that others
// may use, too, stands between this system and the machine. Other than x86 processors do not say.
bool says_virtual(const std::string& cpuinfo);
bool on_virtual_machine();

}  // namespace fourfold::inline support
