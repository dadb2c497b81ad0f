// JSON between text and values: every JSON text is parsed and bounded here (and by parse_json,
// which says why one is refused).
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace fourfold::inline support {

class JsonObject;

// What nests deeper is refused: to copy, compare or write it takes a stack that has an end.
inline constexpr int most_json_depth = 100;

// Why a text is not parsed, which may be JSON: it nests too deep, or says U+0000, with which names
// would end elsewhere than they seem to. Empty where it may be parsed.
std::string json_trouble(const std::string& text);

// What may hold U+0000.
enum class ZeroLetters { refused, kept };

// Nothing where the text is no JSON, or has such a trouble. Of documents to train on zeros are
// kept.
std::optional<nlohmann::json> json_in(const std::string& text,
                                      ZeroLetters zeros = ZeroLetters::refused);

inline constexpr std::int64_t any_whole_number = std::numeric_limits<std::int64_t>::max();
// Of bytes, words or operations; twice as much, and their sums, fit in 64 bits.
inline constexpr std::int64_t most_of_a_count = 1'000'000'000'000'000;

// A whole number from 0 to `most`; none where it is of another kind or size.
std::optional<std::int64_t> whole_in(const nlohmann::json& value,
                                     std::int64_t most = any_whole_number);
// Of a key, from 1 on and from `least` on; refused, as the object refuses, where it is more than
// `most`.
std::int64_t positive_up_to(JsonObject& object, const std::string& key, std::int64_t most);
double number_within(JsonObject& object, const std::string& key, double least, double most);

// The text of a value on one line, or with `indent` letters before what is inside; bytes of its
// texts that are no UTF-8, as of a file's name, become U+FFFD.
std::string json_text(const nlohmann::json& value, int indent = -1);

}  // namespace fourfold::inline support
