// Every key of a platform file, as data: what it means, where its number comes from and what it
// moves. The reader refuses by it, the template is printed from it, docs/platforms.md repeats it.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline platforms::inline file {

enum class KeyForm {
  text,    // "NCCL"
  flag,    // true or false
  number,  // { value = 64, source = "..." }
  column   // of a list: a plain value
};

enum class Presence {
  required,
  usual,    // some machines have no use for it; the template gives it
  optional  // the template gives it behind a #
};

struct Key {
  std::string name;  // "memory_GB": ends in its unit
  KeyForm form = KeyForm::number;
  std::string typical;  // as TOML writes it; of a column: nothing, its table has whole rows
  std::string meaning;
  std::string from = "";   // how to measure it, or where to read it; empty: as the writer likes
  std::string moves = "";  // the predicted number that it moves most; empty: none
  Presence presence = Presence::required;
};

// A table of the file, or, with rows, a list: source, unconfirmed and entries.
struct KeyTable {
  std::string path;     // "", "processor", "processor.gemm"
  std::string network;  // the kind of network that has it; empty: all
  std::string meaning;  // sentences
  std::vector<Key> keys;
  std::vector<std::string> rows = {};  // typical entries
  Presence presence = Presence::required;
};

// In the order of a file: a table before those inside it.
const std::vector<KeyTable>& platform_keys();

// "crossbar", "dragonfly", ...: the kinds of network, sorted.
std::vector<std::string> network_kinds();

// Parts of platform_keys().
std::vector<KeyTable> machine_keys();
std::vector<KeyTable> network_keys();
std::vector<KeyTable> library_keys();

}  // namespace fourfold::inline platforms::inline file
