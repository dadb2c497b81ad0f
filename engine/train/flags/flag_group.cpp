// What is said of numbers; see flag_group.hpp.
#include "engine/train/flags/flag_group.hpp"

#include <charconv>
#include <sstream>

namespace fourfold {

CLI::Validator number(double least, double most) {
  const auto why_not = [least, most](const std::string& text) {
    double value = 0.0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      return "'" + text + "' is no number";
    }
    if (value >= least && value <= most) return std::string();
    std::ostringstream sentence;
    sentence << "must be at least " << least;
    if (most < std::numeric_limits<double>::infinity()) sentence << " and at most " << most;
    sentence << ", not " << text;
    return sentence.str();
  };
  return {why_not, ""};
}

}  // namespace fourfold
