// What people of the trade call things that have another name here: flags of other programs,
// devices of machines, families of models.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline support {

// The first meaning whose first word is known says what was meant: of "--grid tp=N" it is "--grid".
struct TradeWords {
  std::vector<std::string> said;  // flags without their dashes
  std::vector<std::string> meant;
  std::string instead = "";  // said in place of the meaning, of what there is not
};

const std::vector<TradeWords>& trade_words();

// Letters and digits alone, in small letters: "--Tensor_parallel" and "tensor-parallel" are one.
std::string bare_word(const std::string& word);

}  // namespace fourfold::inline support
