// A few changes at random places; see mutate.hpp.
#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace fourfold::tests {
namespace {

std::vector<std::string> between_blanks(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ' ');) words.push_back(word);
  return words;
}

// Where readers have gone wrong before, here and elsewhere.
const std::vector<std::string> odd_words = between_blanks(
    "-1 0 1e999 -0.0 nan inf 99999999999999999999 9223372036854775807 1e9 1000000000 2147483648 "
    "4294967296 \"\" '' ''' \"\"\" [ ] [[ ]] { } = , \n . a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a # "
    "true null 1979-05-27 \xff \xed\xa0\x80 \\u0000 \r x= data=all 1-1000000000");

bool is_of_number(char letter) {
  return (letter >= '0' && letter <= '9') || letter == '.' || letter == '-' || letter == '+';
}

}  // namespace

void Mutator::change(std::string& text, const std::vector<std::string>& seeds) {
  const std::string odd = odd_words[below(odd_words.size())];
  if (text.empty()) {
    text = odd;
    return;
  }
  const std::size_t at = below(text.size());
  const std::size_t length = 1 + below(std::min<std::size_t>(text.size() - at, 64));
  switch (below(8)) {
    case 0:
      text[at] = static_cast<char>(below(256));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    case 3:
      text.insert(at, odd);
      break;
    case 4:
      text.resize(at);
      break;
    case 5: {  // a line that stands twice, or once less
      const std::size_t begin =
          text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at);
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end <= begin) break;
      if (below(2) == 0) {
        text.insert(end, text.substr(begin, end - begin));
      } else {
        text.erase(begin, end - begin);
      }
      break;
    }
    case 6: {  // a number
      const auto number =
          std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_of_number);
      const auto end = std::find_if_not(number, text.end(), is_of_number);
      text.replace(number, end, odd);
      break;
    }
    default: {
      const std::string& other = seeds[below(seeds.size())];
      if (other.empty()) break;
      const std::size_t from = below(other.size());
      text.replace(at, length, other.substr(from, 1 + below(200)));
    }
  }
}

std::string Mutator::text(const std::vector<std::string>& seeds) {
  std::string text = seeds[below(seeds.size())];
  for (std::size_t i = 1 + below(8); i > 0; --i) change(text, seeds);
  return text;
}

std::vector<std::string> Mutator::words(const std::vector<std::vector<std::string>>& seeds) {
  std::vector<std::string> words = seeds[below(seeds.size())];
  for (std::size_t i = 1 + below(3); i > 0 && !words.empty(); --i) {
    const std::size_t at = below(words.size());
    const auto place = words.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<std::string>& other = seeds[below(seeds.size())];
    switch (below(6)) {
      case 0:
        words.erase(place);
        break;
      case 1:
        words.insert(place, words[at]);
        break;
      case 2:
        std::swap(words[at], words[below(words.size())]);
        break;
      case 3:
        words[at] = odd_words[below(odd_words.size())];
        break;
      case 4:
        words.insert(place, other[below(other.size())]);
        break;
      default:
        change(words[at], other);
    }
  }
  // No word of a command line holds a zero.
  for (std::string& word : words) std::erase(word, '\0');
  return words;
}

}  // namespace fourfold::tests
