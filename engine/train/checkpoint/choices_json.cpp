// One object a product; see choices_json.hpp.
#include "engine/train/checkpoint/choices_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "schedule/program/step_options.hpp"
#include "support/field.hpp"

namespace fourfold {

namespace {

Precision precision_named(const std::string& word) {
  return step_fields().with({}, "--precision", word).precision;
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
      choice.product = {form_named(word("form")),          entry.at("m").get<std::int64_t>(),
                        entry.at("n").get<std::int64_t>(), entry.at("k").get<std::int64_t>(),
                        precision_named(word("a")),        precision_named(word("b")),
                        precision_named(word("out"))};
      choice.count = entry.at("count").get<std::int64_t>();
      choice.kernel = {library_named(word("library")), form_named(word("kernel_form")),
                       precision_named(entry.value("arithmetic", "fp32"))};
      result.choices.push_back(std::move(choice));
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string("the kernel choices are damaged: ") + error.what());
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

}  // namespace fourfold
