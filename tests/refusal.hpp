// What a call is refused with, for tests of the words: the sentence of a std::invalid_argument.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace fourfold {

// "accepted" where nothing is thrown.
inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace fourfold
