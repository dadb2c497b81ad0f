// JSON lines to values; see measured_file.hpp.
#include "scaling/calibrate/measured_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "scaling/bars/deviations.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "support/processor_name.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline calibrate {

std::int64_t MeasuredOperation::whole(const char* key) const {
  return JsonObject(what, "a measurement").integer(key);
}

std::vector<MeasuredOperation> read_measured(const std::string& path) {
  std::vector<MeasuredOperation> all;
  const std::vector<TextLine> lines = read_lines(path, "the measurements in");
  for (const TextLine& line : lines) {
    const auto object = json_in(line.text);
    if (!object && line.number == std::ssize(lines)) break;  // cut off
    try {
      if (!object) throw std::runtime_error("no JSON");
      all.push_back({object->at("what"), object->at("seconds"), object->at("low"),
                     object->at("high"), JsonObject(*object, path).integer("n"),
                     object->at("reference_s"), object->at("foreign_cores"), object->at("date"),
                     object->value("processor", std::string())});
    } catch (const std::exception&) {
      throw std::runtime_error(fmt::format("{}:{}: this is no measurement", path, line.number));
    }
  }
  return all;
}

void refuse_other_processors(const std::vector<MeasuredOperation>& all, const std::string& path) {
  const std::string own = recorded_processor();
  for (const MeasuredOperation& one : all) {
    if (one.processor.empty() || one.processor == own) continue;
    throw std::runtime_error(
        fmt::format("{} has what was measured on {}, and this is {}: give another file, or "
                    "`fourfold calibrate --again`, which starts anew",
                    path, one.processor, own));
  }
}

double reference_seconds(const std::vector<MeasuredOperation>& all, std::int64_t ranks) {
  std::vector<double> references;
  for (const MeasuredOperation& one : all) {
    if (one.whole("ranks") == ranks) references.push_back(one.reference);
  }
  if (references.empty()) {
    throw std::runtime_error(fmt::format("nothing was measured on {} ranks yet", ranks));
  }
  return quantile(references, 0.5);
}

std::vector<MeasuredOperation> at_one_speed(std::vector<MeasuredOperation> all,
                                            std::int64_t ranks) {
  const double usual = reference_seconds(all, ranks);
  for (MeasuredOperation& one : all) {
    const double factor = usual / one.reference;
    one.seconds *= factor;
    one.low *= factor;
    one.high *= factor;
    one.reference = usual;
  }
  return all;
}

std::string source_of(const MeasuredOperation& one) {
  return source_of(std::vector<MeasuredOperation>{one});
}

std::string source_of(const std::vector<MeasuredOperation>& all) {
  if (all.empty()) throw std::invalid_argument("nothing was measured: there is no source");
  std::vector<double> spreads;
  std::int64_t fewest = all.front().repetitions;
  std::set<std::int64_t> ranks;
  std::string first = all.front().date, last = first;
  for (const MeasuredOperation& one : all) {
    spreads.push_back((one.high - one.low) / one.seconds);
    fewest = std::min(fewest, one.repetitions);
    ranks.insert(one.whole("ranks"));
    first = std::min(first, one.date);
    last = std::max(last, one.date);
  }
  std::string of_ranks;
  for (std::int64_t count : ranks)
    of_ranks += (of_ranks.empty() ? "" : ", ") + fmt::to_string(count);
  return fmt::format("fourfold calibrate, {}{}, on {} rank{}, n = {}{}, quartiles {:.1f} % apart",
                     first, last == first ? "" : " to " + last, of_ranks,
                     of_ranks == "1" ? "" : "s", fewest, all.size() > 1 ? " and more" : "",
                     100.0 * quantile(spreads, 0.5));
}

}  // namespace fourfold::inline scaling::inline calibrate
