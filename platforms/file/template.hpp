// A platform file to start from: every key with its meaning, for a machine of one's own.
#pragma once

#include <string>

namespace fourfold::inline platforms::inline file {

// A complete and valid file for a network of that kind. Numbers are typical ones and unconfirmed;
// what is optional stands behind a #. Throws std::invalid_argument on an unknown kind.
std::string platform_template(const std::string& network_kind);

}  // namespace fourfold::inline platforms::inline file
