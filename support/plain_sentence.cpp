// By the kind of the error; see plain_sentence.hpp.
#include "support/plain_sentence.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

namespace fourfold::inline support {
namespace {

// Where sentences of the standard library begin; ours never do.
bool is_of_the_library(std::string_view sentence) {
  constexpr std::array beginnings{
      "basic_string", "vector::", "array::", "map::",        "deque::",     "_Map",
      "bitset",       "std::",    "bad_",    "bad optional", "bad variant", "[json."};
  constexpr std::array calls{"stoi", "stol", "stoul", "stoll", "stoull", "stof", "stod", "stold"};
  return std::ranges::find(calls, sentence) != calls.end() ||
         std::ranges::any_of(
             beginnings, [&](const char* beginning) { return sentence.starts_with(beginning); });
}

}  // namespace

std::string plain_sentence(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "the memory that this machine or its limits allow is used up";
  }
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return "cannot use " + (file->path1().empty() ? "a file" : file->path1().string()) + ": " +
           file->code().message();
  }
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    return "the system refuses: " + system->code().message();
  }
  if (dynamic_cast<const nlohmann::json::exception*>(&error) != nullptr) {
    return "what was read as JSON lacks an entry, or has one of another kind than it should";
  }
  if (is_of_the_library(error.what())) {
    return "Fourfold was not made for what it was given, and does not know why; please report "
           "what was typed";
  }
  return error.what();
}

}  // namespace fourfold::inline support
