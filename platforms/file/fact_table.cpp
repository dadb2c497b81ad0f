// Strict reading of one table: numbers without a source are errors.
#include "platforms/file/fact_table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <list>
#include <map>
#include <stdexcept>
#include <utility>

#include "platforms/file/scale_groups.hpp"
#include "support/text_file.hpp"
#include "support/toml_table.hpp"

namespace fourfold::inline platforms::inline file {
const toml::table& parse_toml(const std::string& path) {
  struct Version {
    std::string text;
    toml::table table;
  };
  // A campaign reads the same few files several times for each point.
  thread_local std::map<std::string, std::list<Version>> known;
  std::list<Version>& versions = known[path];
  std::string text = read_text_file(path);
  if (versions.empty() || versions.front().text != text) {
    versions.push_front({std::move(text), parse_toml_file(path)});
    if (versions.size() > 2) versions.pop_back();
  }
  return versions.front().table;
}

namespace {

[[noreturn]] void refuse_at(const FactSheet& sheet, const toml::node& node,
                            const std::string& message) {
  refuse_line(sheet.path, node.source().begin.line, message);
}

const char* words(Range range) {
  switch (range) {
    case Range::positive:
      return "greater than 0";
    case Range::non_negative:
      return "0 or more";
    case Range::fraction:
      return "greater than 0 and at most 1";
    case Range::open_fraction:
      return "0 or more and less than 1";
    case Range::at_least_1:
      return "1 or more";
  }
  return "";
}

bool holds(Range range, double value) {
  if (!std::isfinite(value)) return false;
  switch (range) {
    case Range::positive:
      return value > 0.0;
    case Range::non_negative:
      return value >= 0.0;
    case Range::fraction:
      return value > 0.0 && value <= 1.0;
    case Range::open_fraction:
      return value >= 0.0 && value < 1.0;
    case Range::at_least_1:
      return value >= 1.0;
  }
  return false;
}

// What any machine of today or tomorrow has, by the unit that ends a key: beyond it is a slip, and
// products of such numbers stay finite.
struct Bounds {
  double least = 1e-6;
  double most = 1e6;
};

Bounds bounds_of(Range range, const std::string& key) {
  const std::string unit = key.substr(key.rfind('_') + 1);
  Bounds bounds;
  if (unit == "us") bounds = {1e-6, 1e9};   // up to a quarter of an hour
  if (unit == "W") bounds = {1e-3, 1e9};    // of a node
  if (unit == "day") bounds = {1e-9, 1e6};  // failures of a node
  if (key == "nodes") bounds = {1.0, 1e6};
  if (range == Range::non_negative || range == Range::open_fraction) bounds.least = 0.0;
  return bounds;
}

// Sources are sentences of a person; an empty one is none.
std::string source_in(const toml::table& table) {
  return table["source"].value_or(std::string());
}

bool unconfirmed_in(const FactSheet& sheet, const toml::table& table) {
  return table.contains("unconfirmed") && TomlReader(sheet.path).flag(table, "unconfirmed");
}

}  // namespace

FactTable::FactTable(FactSheet& sheet, const toml::table& table, std::string prefix)
    : sheet_(&sheet), table_(&table), prefix_(std::move(prefix)) {}

bool FactTable::has(const std::string& key) const {
  return table_->contains(key);
}

std::vector<std::string> FactTable::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, node] : *table_) keys.emplace_back(key.str());
  return keys;
}

std::string FactTable::full(const std::string& key) const {
  return prefix_.empty() ? key : prefix_ + "." + key;
}

void FactTable::refuse(const std::string& key, const std::string& message) const {
  refuse_at(*sheet_, at(key), full(key) + " " + message);
}

const toml::node& FactTable::at(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (node == nullptr) {
    refuse_at(*sheet_, *table_, fmt::format("\"{}\" is missing", full(key)));
  }
  return *node;
}

double FactTable::record(Fact fact, const std::string& key, Range range, Kind kind) const {
  if (fact.source.empty()) {
    refuse(key, "has no source: say who gives this number, as in source = \"OLCF user guide\"");
  }
  if (!holds(range, fact.value)) {
    refuse(key, fmt::format("is {}, but it must be {}", fact.value, words(range)));
  }
  const Bounds bounds = bounds_of(range, key);
  if (kind == Kind::whole) {
    expect_whole(fact.value, key, range);
  } else if (fact.value < bounds.least || fact.value > bounds.most) {
    refuse(key, fmt::format("is {}, but it must be from {} to {}", fact.value, bounds.least,
                            bounds.most));
  }
  const double scaled = fact.value * factor_for(sheet_->scales, fact.key, sheet_->network);
  if (!holds(range, scaled)) {
    refuse(key, fmt::format("is {} after scaling, but it must be {}", scaled, words(range)));
  }
  if (kind == Kind::whole && scaled != std::floor(scaled)) {
    throw std::runtime_error(
        fmt::format("as scaled: {} is {}, but it must be a whole number; the file says {}",
                    fact.key, scaled, fact.value));
  }
  sheet_->facts.push_back(std::move(fact));
  return scaled;
}

double FactTable::number(const std::string& key, Range range) const {
  return number(key, range, Kind::any) * unit_of(key);
}

double FactTable::number(const std::string& key, Range range, Kind kind) const {
  const toml::table* fact = at(key).as_table();
  if (fact == nullptr) {
    refuse(key, "must be a number with its source, as in { value = 64, source = \"...\" }");
  }
  const auto value = (*fact)["value"].value<double>();
  if (!value) refuse(key, "has no value that is a number");
  for (const auto& [name, node] : *fact) {
    const std::string_view word = name.str();
    if (word == "value" || word == "source" || word == "unconfirmed") continue;
    refuse(key, fmt::format("has the unknown key \"{}\"; a number has value, source and, where "
                            "nobody confirmed it, unconfirmed",
                            word));
  }
  const bool unconfirmed = unconfirmed_in(*sheet_, *fact);
  return record({full(key), *value, source_in(*fact), unconfirmed}, key, range, kind);
}

// Before its bounds as a number are, and again when it is scaled.
std::int64_t FactTable::expect_whole(double value, const std::string& key, Range range) const {
  // Beyond any machine's nodes or links of a kind; tables by number stay small.
  constexpr double most = 1'000'000.0;
  const int least = range == Range::non_negative ? 0 : 1;
  if (value != std::floor(value) || value < least || value > most) {
    refuse(key,
           fmt::format("is {}, but it must be a whole number from {} to {}", value, least, most));
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t FactTable::count(const std::string& key, Range range) const {
  return expect_whole(number(key, range, Kind::whole), key, range);
}

std::string FactTable::text(const std::string& key) const {
  const auto value = at(key).value<std::string>();
  if (!value || value->empty()) refuse(key, "must be a text in quotes");
  return *value;
}

bool FactTable::flag(const std::string& key) const {
  const auto* value = at(key).as_boolean();
  if (value == nullptr) refuse(key, "must be true or false");
  return value->get();
}

FactTable FactTable::section(const std::string& key) const {
  const toml::table* table = at(key).as_table();
  if (table == nullptr) refuse(key, "must be a table");
  return FactTable(*sheet_, *table, full(key));
}

std::vector<FactTable> FactTable::entries(const std::string& key) const {
  const FactTable list = section(key);
  const toml::array* array = list.at("entries").as_array();
  if (array == nullptr) list.refuse("entries", "must be a list of tables");
  std::vector<FactTable> rows;
  for (const toml::node& node : *array) {
    if (!node.is_table()) list.refuse("entries", "must be a list of tables");
    const toml::table& row = *node.as_table();
    rows.emplace_back(*sheet_, row, full(key));
    rows.back().source_ = row.contains("source") ? source_in(row) : source_in(*list.table_);
    rows.back().unconfirmed_ =
        unconfirmed_in(*sheet_, row.contains("unconfirmed") ? row : *list.table_);
  }
  return rows;
}

std::int64_t FactTable::label(const std::string& key) const {
  const auto* value = at(key).as_integer();
  constexpr std::int64_t most = 1'000'000'000'000;  // bytes of a message, the largest of them
  if (value == nullptr) refuse(key, "must be a whole number");
  if (value->get() < 0 || value->get() > most) {
    refuse(key, fmt::format("is {}, but it must be from 0 to {}", value->get(), most));
  }
  return value->get();
}

std::vector<int> FactTable::labels(const std::string& key) const {
  const toml::array* array = at(key).as_array();
  if (array == nullptr) refuse(key, "must be a list of whole numbers, as in [0, 1]");
  std::vector<int> values;
  for (const toml::node& node : *array) {
    const auto* value = node.as_integer();
    if (value == nullptr) refuse(key, "must be a list of whole numbers, as in [0, 1]");
    if (value->get() < 0 || value->get() > std::numeric_limits<int>::max()) {
      refuse(key, fmt::format("names {}, which is no device", value->get()));
    }
    values.push_back(static_cast<int>(value->get()));
  }
  return values;
}

double FactTable::entry_number(const std::string& name, const std::string& key) const {
  return entry(name, key, Kind::any) * unit_of(key);
}

double FactTable::entry(const std::string& name, const std::string& key, Kind kind) const {
  const auto value = at(key).value<double>();
  if (!value) refuse(key, "must be a number");
  Fact fact{prefix_ + "." + name + "." + key, *value, source_, unconfirmed_};
  return record(std::move(fact), key, Range::positive, kind);
}

std::int64_t FactTable::entry_count(const std::string& name, const std::string& key) const {
  return expect_whole(entry(name, key, Kind::whole), key, Range::positive);
}

double FactTable::scale(const std::string& name) const {
  const auto found = sheet_->scales.find(name);
  return found == sheet_->scales.end() ? 1.0 : found->second;
}

std::string without_label(const std::string& key) {
  const std::size_t last = key.rfind('.');
  if (last == std::string::npos || last == 0) return key;
  const std::size_t label = key.rfind('.', last - 1);
  if (label == std::string::npos) return key;
  // As no key does, a label begins with a digit or has a hyphen: 4096, NN-64x64x64, send-2-4-16.
  const bool is_label = (key[label + 1] >= '0' && key[label + 1] <= '9') ||
                        key.substr(label, last - label).find('-') != std::string::npos;
  return is_label ? key.substr(0, label) + key.substr(last) : key;
}

double unit_of(const std::string& key) {
  const std::string unit = key.substr(key.rfind('_') + 1);
  if (unit == "GB" || unit == "GBps") return 1e9;
  if (unit == "GiB") return 1024.0 * 1024.0 * 1024.0;
  if (unit == "MiB") return 1024.0 * 1024.0;
  if (unit == "KiB") return 1024.0;
  if (unit == "Tflops") return 1e12;
  if (unit == "us") return 1e-6;
  return 1.0;
}

}  // namespace fourfold::inline platforms::inline file
