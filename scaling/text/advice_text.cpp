// Sentences and a table; see advice_text.hpp.
#include "scaling/text/advice_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platforms/device_memory.hpp"
#include "scaling/records/time_parts.hpp"
#include "scaling/study/study.hpp"
#include "scaling/text/choices_text.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "scaling/words/throughput_text.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

std::string source_of(const Fact& fact) {
  return fact.source + (fact.unconfirmed ? "; UNCONFIRMED" : "");
}

// "45 s", "12 min", "3.4 h", "2.1 days".
std::string time_text(Seconds time) {
  const double value = time.value;
  if (value < 9.95) return fmt::format("{:.1f} s", value);
  if (value < 120.0) return fmt::format("{:.0f} s", value);
  if (value < 1'200.0) return fmt::format("{:.1f} min", value / 60.0);
  if (value < 7'200.0) return fmt::format("{:.0f} min", value / 60.0);
  if (value < 172'800.0) return fmt::format("{:.1f} h", value / 3'600.0);
  return fmt::format("{:.1f} days", value / 86'400.0);
}

// "4.2 days", and what is shorter than one in hours, minutes or seconds.
std::string days_text(double days) {
  if (!(days <= most_days)) return "never";
  if (days < 1.0) return time_text({86'400.0 * days});
  return fmt::format("{:.{}f} days", days, days < 99.95 ? 1 : 0);
}

std::string bytes_text(Bytes bytes) {
  return bytes.value < 1e12 ? fmt::format("{:.0f} GB", bytes.value / 1e9)
                            : fmt::format("{:.1f} TB", bytes.value / 1e12);
}

// "the deadline of 30 days holds by 4.2 days", "the budget of 500k node-hours is missed by 12k".
std::string against(double value, double bound, const std::string& subject,
                    std::string (*amount)(double)) {
  return fmt::format("{} {} {}", subject, value <= bound ? "holds by" : "is missed by",
                     amount(std::abs(bound - value)));
}

std::string bounds_text(double days, double node_hours, const AdviceWish& wish) {
  std::vector<std::string> words;
  if (wish.deadline_days) {
    words.push_back(against(days, *wish.deadline_days,
                            fmt::format("the deadline of {}", days_text(*wish.deadline_days)),
                            days_text));
  }
  if (wish.node_hours) {
    words.push_back(
        against(node_hours, *wish.node_hours,
                fmt::format("the budget of {} node-hours", short_number(*wish.node_hours)),
                [](double hours) { return short_number(hours); }));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string rule_text(const AdviceWish& wish) {
  if (wish.deadline_days) return "the fewest node-hours that meet the deadline";
  if (wish.node_hours) return "the fewest days within the budget";
  return fmt::format("the fewest days for at most {:.0f} % more node-hours than the fewest",
                     100.0 * (worth_of_haste - 1.0));
}

std::string headline(const Advice& advice) {
  const Record& record = advice.options[advice.chosen].record;
  const Point& point = record.point;
  const double batch = static_cast<double>(point.global_batch * point.model.sequence);
  const double steps = std::ceil(advice.wish.tokens / batch);
  return wrapped(fmt::format("{} with {} tokens on {}: {:.0f} {} of {} tokens, all seconds {}.\n",
                             point.model.name, tokens_text(advice.wish.tokens),
                             advice.platform.title, steps, steps == 1.0 ? "step" : "steps",
                             tokens_text(batch), name(record.fidelity))) +
         '\n';
}

std::string verdict(const Advice& advice) {
  const AdviceOption& option = advice.options[advice.chosen];
  const Point& point = option.record.point;
  std::string text =
      fmt::format("{} {} devices ({}), grid {}, {}: {}",
                  advice.holds ? "TAKE" : "NEAREST:", option.record.devices(),
                  counted(option.nodes, "node"), point.grid.str(),
                  counted(point.options.micro_batches, "micro-batch"), days_text(option.days()));
  const std::string nothing_holds = "NOTHING HOLDS among these numbers of devices. ";
  if (!option.ends()) return wrapped(nothing_holds + text + ".") + "\n\n";
  text += fmt::format(", {} node-hours", short_number(option.node_hours()));
  if (option.energy_MWh) text += fmt::format(", {} MWh", short_number(*option.energy_MWh));
  const std::string bounds = bounds_text(option.days(), option.node_hours(), advice.wish);
  if (!bounds.empty()) text += ": " + bounds;
  if (advice.holds) return wrapped(text + ". It is " + rule_text(advice.wish) + ".") + "\n\n";
  return wrapped(nothing_holds + text + ".") + "\n\n";
}

// With which other values of what is taken for granted another number of devices would be advised.
std::string changes_of_advice(const Advice& advice) {
  const std::int64_t advised = advice.options[advice.chosen].record.devices();
  std::vector<std::string> words;
  for (const auto& [with, devices] : other_advice(advice)) {
    if (devices != advised) {
      words.push_back(fmt::format("{} with {}", counted(devices, "device"), with.what));
    }
  }
  if (words.empty()) return "None of these would change the number of devices.";
  return fmt::format("Advised would be {}.", fmt::join(words, ", "));
}

std::string choices(const Advice& advice) {
  const Record& chosen = advice.options[advice.chosen].record;
  const std::vector<Question>& questions = advice.wish.questions;
  const auto asked = std::ranges::find(questions, chosen.devices(), &Question::devices);
  if (asked == questions.end()) return "";
  return choices_text(*asked, chosen) + '\n' + wrapped(changes_of_advice(advice)) + "\n\n";
}

std::string options_table(const Advice& advice) {
  TextTable table;
  const bool failures = advice.options.front().failures.has_value();
  const bool energy = advice.operation.node_power.has_value();
  table.columns = {{"", "", Align::left},     {"devices", ""}, {"nodes", ""},
                   {"grid", "", Align::left}, {"step", "s"},   {"MFU", "%"},
                   {"time", "of steps"}};
  if (failures) table.columns.push_back({"time with", "failures"});
  table.columns.push_back({"node-hours", ""});
  table.columns.push_back({"fits", "%"});
  if (energy) table.columns.push_back({"energy", "MWh"});
  for (std::size_t i = 0; i < advice.options.size(); ++i) {
    const AdviceOption& option = advice.options[i];
    std::vector<std::string> row{i == advice.chosen   ? ">"
                                 : i == advice.second ? "2nd"
                                                      : "",
                                 fmt::to_string(option.record.devices()),
                                 fmt::to_string(option.nodes),
                                 option.record.point.grid.str(),
                                 fmt::format("{:.2f}", option.record.seconds().value),
                                 percent(option.record.throughput().mfu),
                                 days_text(option.step_days)};
    if (failures) row.push_back(days_text(option.days()));
    row.push_back(option.ends() ? short_number(option.node_hours()) : "-");
    row.push_back(chance_cell(option.record.chance_to_fit));
    if (energy) row.push_back(option.ends() ? short_number(*option.energy_MWh) : "-");
    table.rows.push_back(std::move(row));
  }
  std::string text = format(table);
  for (const std::string& sentence : advice.refused) text += wrapped(sentence) + '\n';
  return text + '\n';
}

std::string limits(const Advice& advice) {
  const Record& record = advice.options[advice.chosen].record;
  const std::string fits = record.chance_to_fit ? ": " + fits_text(*record.chance_to_fit) : "";
  return wrapped(fmt::format("What limits it: {} of a step; {:.1f} of {:.1f} GB of memory{}.",
                             largest_parts(record.outcome), record.memory.value / 1e9,
                             record.memory_limit.value / 1e9, fits)) +
         '\n';
}

std::string more_or_less(double ratio, const char* more, const char* less) {
  if (ratio >= 1.0) return fmt::format("{:.0f} % {}", 100.0 * (ratio - 1.0), more);
  return fmt::format("{:.0f} % {}", 100.0 * (1.0 - ratio), less);
}

// The best other grid of the chosen devices.
const GridSeconds* next_grid(const Record& record) {
  const GridSeconds* best = nullptr;
  for (const GridSeconds& grid : record.best_grids) {
    if (grid.grid == record.point.grid) continue;
    if (best == nullptr || seconds_of(grid, record) < seconds_of(*best, record)) best = &grid;
  }
  return best;
}

std::string second_choice(const Advice& advice) {
  const AdviceOption& first = advice.options[advice.chosen];
  std::string text;
  if (advice.second && !(first.ends() && advice.options[*advice.second].ends())) {
    const AdviceOption& second = advice.options[*advice.second];
    text = fmt::format("Second choice: {} devices: {}.", second.record.devices(),
                       days_text(second.days()));
  } else if (advice.second) {
    const AdviceOption& second = advice.options[*advice.second];
    text = fmt::format("Second choice: {} devices: {}, {}.", second.record.devices(),
                       more_or_less(second.days() / first.days(), "more days", "fewer days"),
                       more_or_less(second.node_hours() / first.node_hours(), "more node-hours",
                                    "fewer node-hours"));
    const std::string bounds = bounds_text(second.days(), second.node_hours(), advice.wish);
    if (!bounds.empty()) text.back() = ';', text += ' ' + bounds + '.';
  }
  if (const GridSeconds* grid = next_grid(first.record)) {
    const Seconds seconds = seconds_of(*grid, first.record);
    text += fmt::format("{}The next grid of {} devices, {}, takes {:.1f} % longer{}.",
                        text.empty() ? "" : " ", first.record.devices(), grid->grid.str(),
                        100.0 * (seconds / first.record.seconds() - 1.0),
                        ties(first.record.bar, first.record.seconds(), seconds) ? ", a tie" : "");
  }
  return text.empty() ? text : wrapped(text) + '\n';
}

std::string certainty(const Advice& advice) {
  const AdviceOption& option = advice.options[advice.chosen];
  const std::optional<ErrorBar>& bar = option.record.bar;
  if (!option.ends()) return "";
  if (!bar) return "How sure: unknown, too few measured runs are like it.\n";
  const double low = option.days() * (1.0 + bar->low), high = option.days() * (1.0 + bar->high);
  std::string text = fmt::format(
      "How sure: 80 % of runs like it ({} runs of {} sources, {}) would take {} to {} ({}).",
      bar->runs, bar->sources, bar->like, days_text(low), days_text(high), percent_text(*bar));
  if (const auto& varies = option.record.varies) {
    const double step = option.record.seconds().value;
    text += fmt::format(" Nine of ten steps take at most {:.2f} s (p90), 99 of 100 {:.2f} s (p99).",
                        step * varies->p90, step * varies->p99);
  }
  if (advice.wish.deadline_days && high <= most_days) {
    text += " At the long end " +
            against(high, *advice.wish.deadline_days, "the deadline", days_text) + '.';
  }
  return wrapped(text) + '\n';
}

// How fast a checkpoint is written, and who says so.
std::string rate_text(const Failures& failures, const Fact& file_system) {
  const std::string of_files =
      fmt::format("{:g} GB/s ({})", file_system.value, source_of(file_system));
  if (!failures.adapters) return of_files;
  return fmt::format("{:g} GB/s, all that the nodes' adapters send; the file system would take {}",
                     failures.adapters->value / 1e9, of_files);
}

std::string failures_text(const Advice& advice) {
  const AdviceOption& option = advice.options[advice.chosen];
  const MachineOperation& operation = advice.operation;
  if (!option.failures) {
    return wrapped(fmt::format("Failures: not counted: {} lacks node_failures_per_day or "
                               "file_system_write_GBps in [operation] (docs/platforms.md).",
                               advice.platform.name)) +
           '\n';
  }
  const Failures& failures = *option.failures;
  const CheckpointCost& cost = failures.cost;
  const std::string with = days_text(option.days()), without = days_text(option.step_days);
  const Seconds daly = daly_interval(cost);
  std::string run = "never ends";
  if (option.ends()) {
    run = fmt::format("takes {}{}; with ten times as many failures {}", with,
                      with == without ? ", as without them" : " instead of " + without,
                      days_text(option.step_days * failures.tenfold));
  }
  return wrapped(fmt::format(
             "Failures: one of {} fails every {} ({:g} a node and day: {}). A checkpoint of {} (12 "
             "bytes a "
             "parameter) takes {} at {}. Write one every {}{} (Young {}, Daly {}); a "
             "restart takes {}. The run {}.",
             counted(option.nodes, "node"), time_text(cost.between_failures),
             operation.node_failures->value, source_of(*operation.node_failures),
             bytes_text(advice.checkpoint), time_text(cost.write),
             rate_text(failures, *operation.file_system), time_text(failures.interval),
             failures.interval > daly ? ", a step" : "", time_text(young_interval(cost)),
             time_text(daly), time_text(cost.restart), run)) +
         '\n';
}

std::string energy_text(const Advice& advice) {
  const std::optional<Fact>& power = advice.operation.node_power;
  if (!power) {
    return wrapped(
               fmt::format("Energy: {} does not say what a node draws.", advice.platform.name)) +
           '\n';
  }
  return wrapped(fmt::format("Energy: {:g} W a node ({}); cooling and idle nodes not counted.",
                             power->value, source_of(*power))) +
         '\n';
}

}  // namespace

std::string advice_text(const Advice& advice) {
  return headline(advice) + verdict(advice) + choices(advice) + options_table(advice) +
         limits(advice) + second_choice(advice) + certainty(advice) + failures_text(advice) +
         energy_text(advice);
}

}  // namespace fourfold::inline scaling::inline text
