// Sentences about options that nobody typed; see choices_text.hpp.
#include "scaling/text/choices_text.hpp"

#include <fmt/format.h>

#include "scaling/find/granted.hpp"
#include "scaling/records/open_options.hpp"
#include "scaling/words/throughput_text.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {

namespace {

// Of the pipelines that were looked at; of a grid that was stated there is nothing to say.
std::string stages_text(const Question& asked) {
  constexpr std::size_t few = 4;
  const std::vector<std::int64_t>& stages = asked.stages;
  if (asked.grid) return "";
  if (stages == std::vector<std::int64_t>{1}) return "no pipeline (--stages), ";
  if (stages.size() > few) return "pipelines of any length, ";
  return fmt::format("pipelines of {} stage{}, ", fmt::join(stages, ", "),
                     stages.back() == 1 ? "" : "s");
}

}  // namespace

std::string tokens_text(double tokens) {
  std::string text = short_number(tokens);
  if (text.back() == 'G') text.back() = 'B';
  return text;
}

std::string choices_text(const Question& asked, const Record& record) {
  const Point& point = record.point;
  std::string text;
  if (const std::string flags = chosen_flags(asked, point.options); !flags.empty()) {
    text = fmt::format("Chosen: {}, the fastest that fits of {} combinations left open. ", flags,
                       asked.variants.size());
  }
  text +=
      fmt::format("Taken for granted: sequences of {} tokens, batches of {}, {}, {}software {}.",
                  point.model.sequence,
                  tokens_text(static_cast<double>(point.global_batch * point.model.sequence)),
                  name(point.options.precision), stages_text(asked), record.software);
  return wrapped(text + granted_text(granted_changes(record), record));
}

}  // namespace fourfold::inline scaling::inline text
