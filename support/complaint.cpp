// The sentence, made plain and visible; see complaint.hpp.
#include "support/complaint.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/plain_sentence.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline support {

namespace {

// A text that somebody has made long on purpose does not fill the terminal: of a word without a
// blank the beginning stands for it, and of a sentence its beginning and its end, which says what
// would be right. No path of a file is cut: Linux takes none longer.
std::string shortened(const std::string& sentence) {
  constexpr std::size_t longest_word = 4'096, of_a_word = 100;
  constexpr std::size_t longest = 12'000, of_the_beginning = 1'000, of_the_end = 500;
  std::string text;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t end = std::min(sentence.find_first_of(" \n", at), sentence.size());
    const std::size_t letters = end - at;
    if (letters > longest_word) {
      text += sentence.substr(at, of_a_word) + "... (" + std::to_string(letters) + " letters)";
    } else {
      text.append(sentence, at, letters);
    }
    if (end < sentence.size()) text += sentence[end];
    at = end + 1;
  }
  if (text.size() <= longest) return text;
  return text.substr(0, of_the_beginning) + " ... (" +
         std::to_string(text.size() - of_the_beginning - of_the_end) + " letters left out) ... " +
         text.substr(text.size() - of_the_end);
}

std::string in_one(const std::string& sentence, const std::vector<std::string>& lines) {
  return std::accumulate(
      lines.begin(), lines.end(), sentence,
      [](const std::string& text, const std::string& line) { return text + '\n' + line; });
}

}  // namespace

SeveralFaults::SeveralFaults(const std::string& sentence, std::vector<std::string> lines)
    : std::runtime_error(in_one(sentence, lines)), lines_(std::move(lines)) {
  lines_.insert(lines_.begin(), sentence);
}

void remark(const std::string& sentence, const char* program) {
  say_line(std::string(program) + ": " + shortened(sentence));
}

int complain(const std::string& sentence, int status, const char* program) {
  remark(sentence, program);
  return status;
}

int complain(const std::exception& error, int status, const char* program) {
  const auto* several = dynamic_cast<const SeveralFaults*>(&error);
  if (several == nullptr) return complain(plain_sentence(error), status, program);
  complain(several->lines().front(), status, program);
  for (std::size_t i = 1; i < several->lines().size(); ++i)
    say_line(shortened(several->lines()[i]));
  return status;
}

}  // namespace fourfold::inline support
