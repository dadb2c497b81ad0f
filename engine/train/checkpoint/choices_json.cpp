// One object a product; see choices_json.hpp.
#include "engine/train/checkpoint/choices_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "schedule/program/step_options.hpp"
#include "support/field.hpp"
#include "support/json_text.hpp"
#include "support/plain_sentence.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

Precision precision_named(const std::string& word) {
  return step_fields().with({}, "--precision", word).precision;
}

// Of a collective's operands: whole numbers are moved and not added.
Precision precision_of(CollectiveKind kind, const std::string& word) {
  if (word == name(Precision::int32) && !row_of(kind).reduces()) return Precision::int32;
  return precision_named(word);
}

// Of a matrix, a group or a buffer; and how many of them.
std::int64_t size_in(const nlohmann::json& entry, const char* key) {
  constexpr std::int64_t most = std::int64_t{1} << 48;
  if (const std::optional<std::int64_t> size = whole_in(entry.at(key), most)) return *size;
  throw std::runtime_error(std::string("'") + key + "' must be a whole number from 0 to " +
                           std::to_string(most));
}

// A message has one transport, which nobody chooses.
CollectiveKind kind_in(const std::string& word) {
  const auto kind = kind_named(word, collective_rows);
  if (kind && *kind != CollectiveKind::send) return *kind;
  throw std::runtime_error("'" + word + "' is no collective");
}

}  // namespace

nlohmann::json json_of(const KernelChoices& choices) {
  nlohmann::json list = nlohmann::json::array();
  for (const KernelChoice& choice : choices.choices) {
    const Product& p = choice.product;
    list.push_back({{"form", name(p.form)},
                    {"m", p.m},
                    {"n", p.n},
                    {"k", p.k},
                    {"a", name(p.a)},
                    {"b", name(p.b)},
                    {"out", name(p.out)},
                    {"count", choice.count},
                    {"library", name(choice.kernel.library)},
                    {"kernel_form", name(choice.kernel.form)},
                    {"arithmetic", name(choice.kernel.arithmetic)}});
  }
  return list;
}

KernelChoices read_kernel_choices(const nlohmann::json& value) {
  KernelChoices result;
  try {
    for (const nlohmann::json& entry : value) {
      const auto word = [&](const char* key) { return entry.at(key).get<std::string>(); };
      KernelChoice choice;
      choice.product = {form_named(word("form")),    size_in(entry, "m"),
                        size_in(entry, "n"),         size_in(entry, "k"),
                        precision_named(word("a")),  precision_named(word("b")),
                        precision_named(word("out"))};
      choice.count = size_in(entry, "count");
      choice.kernel = {library_named(word("library")), form_named(word("kernel_form")),
                       precision_named(entry.value("arithmetic", "fp32"))};
      result.choices.push_back(std::move(choice));
    }
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(
        "the kernel choices are damaged: an entry is missing or of another kind");
  } catch (const std::exception& error) {
    throw std::runtime_error("the kernel choices are damaged: " + plain_sentence(error));
  }
  return result;
}

nlohmann::json json_of(const std::vector<TransportChoice>& choices) {
  nlohmann::json list = nlohmann::json::array();
  for (const TransportChoice& choice : choices) {
    const ChosenCollective& c = choice.collective;
    list.push_back({{"channel", choice.channel},
                    {"collective", name(c.kind)},
                    {"owed", c.owed == Owed::sum ? "sum" : "max"},
                    {"precision", name(c.precision)},
                    {"members", c.members},
                    {"elements", c.elements},
                    {"transport", name(choice.transport)}});
  }
  return list;
}

std::vector<TransportChoice> read_transport_choices(const nlohmann::json& value) {
  std::vector<TransportChoice> result;
  try {
    for (const nlohmann::json& entry : value) {
      const auto word = [&](const char* key) { return entry.at(key).get<std::string>(); };
      const CollectiveKind kind = kind_in(word("collective"));
      result.push_back({word("channel"),
                        {kind, word("owed") == "max" ? Owed::max : Owed::sum,
                         precision_of(kind, word("precision")), size_in(entry, "members"),
                         size_in(entry, "elements")},
                        parse_transport(word("transport")),
                        {}});
    }
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(
        "the transport choices are damaged: an entry is missing or of another kind");
  } catch (const std::exception& error) {
    throw std::runtime_error("the transport choices are damaged: " + plain_sentence(error));
  }
  return result;
}

bool covers(const KernelChoices& choices, const std::vector<CountedProduct>& products) {
  return std::all_of(products.begin(), products.end(), [&](const CountedProduct& needed) {
    return std::any_of(
        choices.choices.begin(), choices.choices.end(),
        [&](const KernelChoice& choice) { return choice.product == needed.product; });
  });
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
