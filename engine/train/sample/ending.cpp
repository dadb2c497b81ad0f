// Ends of texts compared with what ends them; see ending.hpp.
#include "engine/train/sample/ending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>

namespace fourfold::inline engine::inline train::inline sample {

namespace {

using Words = std::span<const std::int32_t>;

// Words behind which nothing of the text is shown, where the last of them ends it; 0 where not.
Ending ending_at(Words drawn, const Endings& endings) {
  for (const std::vector<std::int32_t>& stop : endings.stops) {
    if (stop.size() > drawn.size() || !std::ranges::equal(drawn.last(stop.size()), stop)) continue;
    return {drawn.size() - stop.size(), EndedBy::stop};
  }
  if (!drawn.empty() && std::ranges::count(endings.end_words, drawn.back()) > 0) {
    return {drawn.size() - 1, EndedBy::end_word};
  }
  return {drawn.size(), EndedBy::length};
}

}  // namespace

const char* name(EndedBy why) {
  if (why == EndedBy::length) return "length";
  return why == EndedBy::stop ? "stop" : "end word";
}

Ending ending_of(const std::vector<std::int32_t>& text, std::size_t prompt,
                 const Endings& endings) {
  const Words drawn = Words(text).subspan(prompt);
  Ending ending{drawn.size(), EndedBy::length};
  for (std::size_t count = 1; count <= drawn.size() && ending.by == EndedBy::length; ++count) {
    const Ending here = ending_at(drawn.first(count), endings);
    if (here.by != EndedBy::length) ending = here;
  }
  return {prompt + ending.words, ending.by};
}

bool has_ended(const std::vector<std::int32_t>& text, std::size_t prompt, const Endings& endings) {
  return ending_at(Words(text).subspan(prompt), endings).by != EndedBy::length;
}

std::size_t sure_words(const std::vector<std::int32_t>& text, std::size_t prompt,
                       const Endings& endings) {
  if (has_ended(text, prompt, endings)) return ending_of(text, prompt, endings).words;
  const Words drawn = Words(text).subspan(prompt);
  std::size_t open = 0;
  for (const std::vector<std::int32_t>& stop : endings.stops) {
    for (std::size_t begun = std::min(stop.size(), drawn.size()); begun > open; --begun) {
      if (std::ranges::equal(drawn.last(begun), Words(stop).first(begun))) open = begun;
    }
  }
  return text.size() - open;
}

std::vector<std::int32_t> end_words_asked(const std::string& flag,
                                          const std::vector<std::int32_t>& of_model,
                                          std::int64_t vocabulary) {
  if (flag == "model") return of_model;
  if (flag == "none") return {};
  std::int32_t word = -1;
  const auto read = std::from_chars(flag.data(), flag.data() + flag.size(), word);
  if (read.ec == std::errc() && read.ptr == flag.data() + flag.size() && word >= 0 &&
      word < vocabulary) {
    return {word};
  }
  throw std::runtime_error(fmt::format(
      "--end-word: '{}' is neither model nor none nor a word from 0 to {}", flag, vocabulary - 1));
}

}  // namespace fourfold::inline engine::inline train::inline sample
