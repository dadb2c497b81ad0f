// A table of a platform file, read strictly: every number has a source, and each number read is
// written down as a Fact. Values come out scaled and in base units. Keys were checked before
// (check_keys.hpp).
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline file {

// Parsed anew only where the file's text has changed; stays until it has changed twice. A copy
// would lose its lines. Throws std::runtime_error with path, line and reason if it is not TOML.
const toml::table& parse_toml(const std::string& path);

// What the numbers of one file share: where errors point, the factors, and the facts so far.
struct FactSheet {
  std::string path;
  Scales scales;
  std::vector<Fact> facts;
  std::string network = {};  // its kind, as the file names it
};

// What a number may be, in the unit of its key.
enum class Range { positive, non_negative, fraction, open_fraction, at_least_1 };

class FactTable {
 public:
  // Sheet and table must outlive it.
  FactTable(FactSheet& sheet, const toml::table& table, std::string prefix);

  bool has(const std::string& key) const;
  std::vector<std::string> keys() const;
  // `{ value = 1.3, source = "...", unconfirmed = true }`, converted by the unit that ends the key.
  double number(const std::string& key, Range range) const;
  std::int64_t count(const std::string& key, Range range) const;
  std::string text(const std::string& key) const;
  bool flag(const std::string& key) const;
  FactTable section(const std::string& key) const;

  // `[key] source = "...", entries = [{...}, {...}]`: the rows of a list. An entry's own source
  // goes before the list's.
  std::vector<FactTable> entries(const std::string& key) const;
  // Inside an entry: a plain integer that says which row it is, and a list of them.
  std::int64_t label(const std::string& key) const;
  std::vector<int> labels(const std::string& key) const;
  // Inside an entry: a plain number, whose fact is named `prefix.name.key`.
  double entry_number(const std::string& name, const std::string& key) const;
  std::int64_t entry_count(const std::string& name, const std::string& key) const;

  // The factor asked for under `name`; 1 if none.
  double scale(const std::string& name) const;

  // Throws "file:line: prefix message".
  [[noreturn]] void refuse(const std::string& key, const std::string& message) const;

 private:
  const toml::node& at(const std::string& key) const;
  enum class Kind : std::uint8_t { any, whole };
  double number(const std::string& key, Range range, Kind kind) const;
  double entry(const std::string& name, const std::string& key, Kind kind) const;
  double record(Fact fact, const std::string& key, Range range, Kind kind) const;
  std::int64_t expect_whole(double value, const std::string& key, Range range) const;
  std::string full(const std::string& key) const;

  FactSheet* sheet_;
  const toml::table* table_;
  std::string prefix_;
  std::string source_;  // of the list this entry stands in
  bool unconfirmed_ = false;
};

// "processor.gemm.6400.rate_Tflops" -> "processor.gemm.rate_Tflops"; other keys stay as they are.
std::string without_label(const std::string& key);

// What one unit of a key is in base units: "memory_GB" -> 1e9; 1 for a key without a unit.
double unit_of(const std::string& key);

}  // namespace fourfold::inline platforms::inline file
