// Which lengths options take, and why they take none; see asked_stages.hpp.
#include "scaling/records/asked_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "schedule/models/fit.hpp"
#include "support/divisors.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline records {
namespace {

bool takes(StepOptions options, const Model& model, std::int64_t stages) {
  options.micro_batches = stages;  // a multiple of the stages, as the interleaved order asks
  return stages <= model.layers && order_misfit(options, stages).empty() &&
         options.layers_per_stage.fault(model.layers, stages, options.chunks).empty();
}

bool takes(const Question& question, std::int64_t stages) {
  if (question.variants.empty()) return takes(question.options, question.model, stages);
  return std::ranges::any_of(question.variants, [&](const StepOptions& options) {
    return takes(options, question.model, stages);
  });
}

// How many counts are given: "15,14x16,15" are 18.
std::int64_t counts_of(const LayersPerStage& layers) {
  std::int64_t counts = 0;
  std::istringstream words(layers.str());
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t times = word.find('x');
    counts += times == std::string::npos ? 1 : std::stoll(word.substr(0, times));
  }
  return counts;
}

std::string why_none(const Question& question) {
  const LayersPerStage& layers = question.options.layers_per_stage;
  const std::int64_t counts = counts_of(layers), chunks = question.options.chunks;
  const std::int64_t stages = counts % chunks == 0 ? counts / chunks : counts;
  const std::string start = fmt::format("--layers-per-stage {}: ", layers.str());
  const std::string fault = layers.fault(question.model.layers, stages, chunks);
  if (!fault.empty()) return start + fault;
  const std::string given = start + "layers are given for " + counted(stages, "stage");
  if (question.devices % stages != 0) {
    return given + fmt::format(", which do not divide {}", counted(question.devices, "device"));
  }
  return given + fmt::format(", and the lengths that are looked at are {}",
                             fmt::join(question.stages, ", "));
}

}  // namespace

void ask_for_stages(Question& question) {
  const auto taken = [&](std::int64_t stages) { return takes(question, stages); };
  if (question.grid || question.devices < 1) return;
  if (std::ranges::any_of(question.stages, taken)) return;
  std::vector<std::int64_t> lengths = divisors(question.devices);
  std::erase_if(lengths, [&](std::int64_t stages) { return !taken(stages); });
  if (question.stages == std::vector<std::int64_t>{1} && !lengths.empty()) {
    if (question.system && question.system->rule(Axis::pipe).allowed == AxisExtents::one) {
      throw std::runtime_error(
          fmt::format("{} has no pipelines ({}), and other options ask for some of {} stages",
                      question.system->name, question.system->rule(Axis::pipe).source,
                      fmt::join(lengths, ", ")));
    }
    question.stages = lengths;
  } else if (question.options.layers_per_stage.said()) {
    throw std::runtime_error(why_none(question));
  }
}

}  // namespace fourfold::inline scaling::inline records
