// Reads software/*.toml strictly; see software.hpp.
#include "platforms/software.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "platforms/file/fact_table.hpp"
#include "platforms/software_memory.hpp"
#include "schedule/program/function.hpp"
#include "support/nearest_name.hpp"
#include "support/toml_table.hpp"

namespace fourfold::inline platforms {
namespace {

namespace fs = std::filesystem;

enum class Place : std::uint8_t { instead, beside, other };

// A name of a file, and what of the step it speaks of.
struct Known {
  const char* name;
  Place place;
  std::vector<const Function*> functions;
};

const std::vector<Known>& known() {
  using namespace functions;
  static const std::vector<Known> all{
      {"add", Place::other, {}},
      {"add_position", Place::instead, {&add_position}},
      {"attention_input", Place::beside, {&attention, &scores}},
      {"attention_input_backward", Place::beside, {&attention_backward, &qkv_backward}},
      {"bias", Place::instead, {&bias}},
      {"bias_gelu", Place::instead, {&bias_gelu}},
      {"bias_residual", Place::instead, {&bias_residual}},
      {"cast", Place::instead, {&cast}},
      {"cast_current", Place::instead, {&cast_current}},
      {"cast_delayed", Place::instead, {&cast_delayed}},
      {"cast_mx", Place::instead, {&cast_mx}},
      {"causal_softmax", Place::instead, {&causal_softmax}},
      {"causal_softmax_backward", Place::instead, {&causal_softmax_backward}},
      {"col_sum", Place::instead, {&col_sum}},
      {"gelu_backward", Place::instead, {&gelu_backward}},
      {"gradient_sum", Place::other, {}},
      {"layer_norm", Place::instead, {&layer_norm}},
      {"layer_norm_backward", Place::instead, {&layer_norm_backward}},
      {"layer_norm_parameters", Place::instead, {&layer_norm_parameters}},
      {"layer_norm_sums", Place::instead, {&layer_norm_sums}},
      {"position_sum", Place::instead, {&position_sum}},
      {"rms_norm", Place::instead, {&rms_norm}},
      {"rms_norm_backward", Place::instead, {&rms_norm_backward}},
      {"rms_norm_parameters", Place::instead, {&rms_norm_parameters}},
      {"rms_norm_sums", Place::instead, {&rms_norm_sums}},
      {"rotary", Place::instead, {&rotary}},
      {"rotary_backward", Place::instead, {&rotary_backward}},
      {"row_exp_and_target", Place::instead, {&row_exp_and_target}},
      {"row_max", Place::instead, {&row_max}},
      {"row_squares", Place::instead, {&row_squares}},
      {"row_sum", Place::instead, {&row_sum}},
      {"softmax_backward", Place::instead, {&softmax_backward}},
      {"softmax_loss", Place::instead, {&softmax_loss}},
      {"square_sum", Place::instead, {&square_sum}},
      {"swiglu", Place::instead, {&swiglu}},
      {"swiglu_backward", Place::instead, {&swiglu_backward}},
      {"update", Place::other, {}}};
  return all;
}

fs::path folder() {
  return fs::path(FOURFOLD_SOURCE_DIR) / "software";
}

std::string path_of(const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml")) {
    if (fs::exists(name_or_path)) return name_or_path;
    throw std::runtime_error(fmt::format("there is no software file \"{}\"", name_or_path));
  }
  const std::vector<std::string> names = known_software();
  if (std::find(names.begin(), names.end(), name_or_path) == names.end()) {
    throw std::runtime_error(
        fmt::format("unknown software \"{}\"{} (`fourfold software` lists all; a file of your own "
                    "goes by its path, ending in .toml)",
                    name_or_path, did_you_mean(name_or_path, names)));
  }
  return (folder() / (name_or_path + ".toml")).string();
}

constexpr std::array all_attention{AttentionSoftware::unfused, AttentionSoftware::flash_1,
                                   AttentionSoftware::flash_2, AttentionSoftware::flash_3};

// `{ key = ..., source = "..." }`, all of it.
const toml::table& fact(const TomlReader& reader, const toml::table& table, const std::string& key,
                        const std::string& inner) {
  const toml::node& node = reader.at(table, key);
  if (!node.is_table()) {
    reader.refuse(node, fmt::format("\"{}\" must be {{ {} = ..., source = \"...\" }}", key, inner));
  }
  reader.allow_only(*node.as_table(), {inner, "source", "unconfirmed"});
  return *node.as_table();
}

std::string source(const TomlReader& reader, const toml::table& fact, const std::string& key) {
  if (!fact.contains("source")) {
    reader.refuse(fact,
                  "\"" + key + "\" has no source: say who says so, as in source = \"its code\"");
  }
  return reader.text(fact, "source");
}

MapRule rule(const TomlReader& reader, const toml::table& maps, const std::string& key) {
  const toml::table& written = fact(reader, maps, key, "kernels");
  MapRule rule{key, {}, source(reader, written, key), false};
  if (written.contains("unconfirmed")) rule.unconfirmed = reader.flag(written, "unconfirmed");
  for (const toml::node& entry : reader.list(written, "kernels", "texts")) {
    const auto kernel = entry.value_exact<std::string>();
    if (!kernel) reader.refuse(entry, "a kernel must be a text, as in \"read 2 2 write 2\"");
    rule.kernels.push_back(*kernel);
  }
  return rule;
}

MapKernels kernels(const TomlReader& reader, const toml::table& maps, const MapRule& rule) {
  MapKernels all;
  for (const std::string& written : rule.kernels) {
    try {
      for (const MapKernel& kernel : map_kernels(written)) all.push_back(kernel);
    } catch (const std::invalid_argument& error) {
      reader.refuse(reader.at(maps, rule.name), fmt::format("{}: {}", rule.name, error.what()));
    }
  }
  return all;
}

void read_maps(const TomlReader& reader, const toml::table& maps, Software& software) {
  reader.allow_only(maps, known_maps());
  for (const Known& one : known()) {
    if (!maps.contains(one.name)) continue;
    std::erase_if(software.rules, [&](const MapRule& other) { return other.name == one.name; });
    software.rules.push_back(rule(reader, maps, one.name));
    const MapKernels found = kernels(reader, maps, software.rules.back());
    if (one.place == Place::other) software.others[one.name] = found;
    for (const Function* function : one.functions) {
      (one.place == Place::beside ? software.beside : software.maps)[function] = found;
    }
  }
}

std::optional<double> number_in(const std::string& word) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// "1/3".
double part_in(const std::string& word, const std::string& written) {
  const std::size_t slash = word.find('/');
  const auto above = number_in(word.substr(0, slash));
  const auto below =
      slash == std::string::npos ? std::optional(1.0) : number_in(word.substr(slash + 1));
  const bool sound = above && below && *above >= 1e-6 && *below <= 1e6 && *above <= *below;
  if (sound) return *above / *below;
  throw std::invalid_argument(
      fmt::format("\"{}\": what follows \"of\" must be a part such as 1/3", written));
}

void add_access(MapKernel& kernel, double width) {
  if (width == 2.0) {
    kernel.stored += 1.0;
  } else {
    kernel.bytes += width;
  }
}

}  // namespace

const char* name(AttentionSoftware attention) {
  constexpr const char* names[]{"unfused", "flash-1", "flash-2", "flash-3"};
  return names[static_cast<int>(attention)];
}

MapKernels map_kernels(const std::string& written) {
  std::istringstream text(written);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (words.size() == 2 && words[1] == "ns") {
    constexpr double nano = 1e-9;
    const auto time = number_in(words[0]);
    if (time && *time >= 1e-6 && *time <= 1e9) return {{0.0, 0.0, {*time * nano}}};
    throw std::invalid_argument(fmt::format(
        "\"{}\": what stands before \"ns\" must be a number from 1e-6 to 1e9", written));
  }
  std::size_t next = 0;
  double times = 1.0;
  if (words.size() > 1 && words[1] == "x") {
    const auto count = number_in(words[0]);
    if (!count || *count < 1.0 || *count > 100.0 || *count != static_cast<int>(*count)) {
      throw std::invalid_argument(
          fmt::format("\"{}\": what stands before \"x\" must be 1 to 100 launches", written));
    }
    times = *count;
    next = 2;
  }
  MapKernel kernel;
  double part = 1.0;
  bool counting = false;  // after "read" or "write"
  bool any = false;
  for (; next < words.size(); ++next) {
    if (words[next] == "read" || words[next] == "write") {
      counting = true;
      continue;
    }
    if (words[next] == "of" && next + 2 == words.size()) {
      part = part_in(words[next + 1], written);
      break;
    }
    const auto width = number_in(words[next]);
    const bool known_width =
        width && (*width == 1.0 || *width == 2.0 || *width == 4.0 || *width == 8.0);
    if (!counting || !known_width) {
      throw std::invalid_argument(
          fmt::format("\"{}\" is no kernel: a kernel is read and write, each with the widths of an "
                      "element in bytes (1, 2, 4 or 8), as in \"read 2 2 write 2\", or \"0.4 ns\"",
                      written));
    }
    add_access(kernel, *width);
    any = true;
  }
  if (!any) throw std::invalid_argument(fmt::format("\"{}\" moves nothing", written));
  kernel.stored *= part;
  kernel.bytes *= part;
  return MapKernels(static_cast<std::size_t>(times), kernel);
}

const MapKernels* Software::kernels_of(const Function& function) const {
  const auto found = maps.find(&function);
  return found == maps.end() ? nullptr : &found->second;
}

const MapKernels* Software::kernels_beside(const Function& function) const {
  const auto found = beside.find(&function);
  return found == beside.end() ? nullptr : &found->second;
}

const MapKernels* Software::update() const {
  const auto found = others.find("update");
  return found == others.end() ? nullptr : &found->second;
}

const MapKernels* Software::add() const {
  const auto found = others.find("add");
  return found == others.end() ? nullptr : &found->second;
}

const MapKernels* Software::gradient_sum() const {
  const auto found = others.find("gradient_sum");
  return found == others.end() ? nullptr : &found->second;
}

std::vector<std::string> known_software() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> known_maps() {
  std::vector<std::string> names;
  for (const Known& one : known()) names.emplace_back(one.name);
  return names;
}

Software read_software(const std::string& name_or_path) {
  FactSheet sheet;
  return read_software(name_or_path, sheet);
}

namespace {

// A software that is like another is that one, but for what its own file says.
Software base_of(const TomlReader& reader, const toml::table& file, const std::string& path,
                 FactSheet& sheet) {
  if (!file.contains("like")) return {};
  const std::string other = reader.text(file, "like");
  std::set<std::string> before{path};
  for (std::string next = path_of(other); before.insert(next).second;) {
    const toml::table& table = parse_toml(next);
    if (!table.contains("like")) return read_software(other, sheet);
    next = path_of(TomlReader(next).text(table, "like"));
  }
  reader.refuse(reader.at(file, "like"),
                fmt::format("\"{}\" is in the end like a file that is like it", other));
}

}  // namespace

Software read_software(const std::string& name_or_path, FactSheet& sheet) {
  const std::string path = path_of(name_or_path);
  const toml::table& file = parse_toml(path);
  const TomlReader reader(path);
  reader.allow_only(file, {"title", "like", "attention", "products", "beside_products",
                           "dispatch_us", "maps", "memory"});
  Software software = base_of(reader, file, path, sheet);
  software.path = path;
  software.name = fs::path(path).stem().string();
  software.title = reader.text(file, "title");
  const bool alone = !file.contains("like");

  if (alone || file.contains("attention")) {
    const toml::table& attention = fact(reader, file, "attention", "kernel");
    std::vector<std::string> words;
    for (AttentionSoftware one : all_attention) words.emplace_back(name(one));
    const std::string word = reader.one_of(reader.at(attention, "kernel"), "kernel", words);
    const auto index = std::find(words.begin(), words.end(), word) - words.begin();
    software.attention = all_attention[static_cast<std::size_t>(index)];
    software.attention_source = source(reader, attention, "attention");
  }

  if (alone || file.contains("products")) {
    const toml::table& products = fact(reader, file, "products", "layouts");
    software.tuned_products =
        reader.one_of(reader.at(products, "layouts"), "layouts", {"default", "tuned"}) == "tuned";
    software.products_source = source(reader, products, "products");
  }

  if (file.contains("beside_products")) {
    const toml::table& pieces = fact(reader, file, "beside_products", "value");
    software.beside_products = reader.flag(pieces, "value");
    software.beside_products_source = source(reader, pieces, "beside_products");
  }

  // Numbers are the machine's to scale, and their lines are this file's.
  FactSheet own{software.path, sheet.scales, {}, sheet.network};
  const FactTable numbers(own, file, "software");
  if (alone || file.contains("dispatch_us")) {
    fact(reader, file, "dispatch_us", "value");
    software.dispatch = {numbers.number("dispatch_us", Range::non_negative)};
  }
  if (numbers.has("memory")) {
    read_software_memory(numbers.section("memory"));
    forget_software_memory(sheet.facts);  // of the other
  }
  for (Fact& fact : own.facts) {  // instead of the other's
    std::erase_if(sheet.facts, [&](const Fact& known) { return known.key == fact.key; });
    sheet.facts.push_back(std::move(fact));
  }

  if (alone || file.contains("maps")) {
    read_maps(reader, reader.table(file, "maps"), software);
  }
  return software;
}

}  // namespace fourfold::inline platforms
