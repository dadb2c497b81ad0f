// Answers on standard output, and notes beside them on standard error.
#pragma once

#include <string>

#include "platforms/platform.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline scaling::inline words {

// What a platform's file leaves open (notice.hpp), to standard error.
void print_notices(const Platform& platform);

// A line to standard error, once however often it is asked for.
void say_once(const std::string& line);
// What a model's file says and no block here has, by its name or path, said once; nothing if that
// is empty.
void say_what_is_not_said(const std::string& model);

}  // namespace fourfold::inline scaling::inline words
