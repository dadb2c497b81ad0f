// Reads names off the recorded program; see names.hpp.
#include "schedule/fold/names.hpp"

#include <map>
#include <set>

namespace fourfold::inline schedule::inline fold {

namespace {

BodyNames names_of(const Schedule& schedule, std::size_t section) {
  const auto first = static_cast<std::size_t>(schedule.sections[section].first);
  BodyNames names;
  for (std::size_t i = first; i < schedule.end_of(section); ++i) {
    const Issue& issue = schedule.stream[i];
    if (issue.kind != IssueKind::compute && issue.kind != IssueKind::start) continue;
    const Op& op = schedule.program.ops[static_cast<std::size_t>(issue.id)];
    auto& list = issue.kind == IssueKind::compute ? names.kernels : names.collectives;
    list.push_back(op_name(schedule.program, op));
  }
  return names;
}

}  // namespace

std::string op_name(const Program& program, const Op& op) {
  const Id id =
      op.kind == OpKind::update || op.kind == OpKind::send ? op.inputs.at(0) : op.outputs.at(0);
  std::string text = program[id].label.alike() + ' ' + op.verb();
  if (op.kind == OpKind::gemm) text += std::string(" ") + name(op.form);
  if (!op.is(functions::none)) text += std::string(" ") + op.function->name;
  if (is_posted(op.kind)) text += std::string(" ") + name(op.axis);
  return text;
}

NamedStep named_step(const Model& model, const StepOptions& options, const Stage& stage) {
  const Schedule schedule = recorded_schedule(model, options, stage);
  NamedStep step;
  step.folded = fold_schedule(schedule);
  for (const Body& body : step.folded.bodies) {
    std::size_t section = 0;
    while (schedule.sections.at(section).section != body.section) ++section;
    step.bodies.push_back(names_of(schedule, section));
  }
  const std::vector<BodyCycle> recorded = step.folded.cycles;
  if (options.micro_batches > step.folded.micro_batches) {
    stretch(step.folded, options.micro_batches);
  }
  std::size_t next = 0;
  // Micro-batches before a section that only repeats stand for: their passes of the same kind.
  std::map<StepPart, std::int64_t> unrecorded;
  for (std::size_t c = 0; c < recorded.size(); ++c) {
    const BodyCycle& cycle = recorded[c];
    std::size_t sections = 0;
    for (const BodyRun& run : cycle.runs) sections += static_cast<std::size_t>(run.repeats);
    const std::size_t said = sections * static_cast<std::size_t>(rounds_said(cycle));
    for (std::size_t i = 0; i < said; ++i) {
      const auto number = static_cast<std::size_t>(schedule.sections.at(next + i).section);
      const Section& section = schedule.program.sections[number];
      const Turn& turn = schedule.program.order.turns[static_cast<std::size_t>(section.turn)];
      const bool of_one = section.micro_batch >= 0;
      step.sections.push_back(
          {section.name, of_one ? section.micro_batch + unrecorded[turn.part] : -1, section.layer});
    }
    next += sections * static_cast<std::size_t>(cycle.repeats);
    const std::int64_t more = step.folded.cycles[c].repeats - cycle.repeats;
    if (more == 0) continue;
    const Steady& steady = step.folded.steady[static_cast<std::size_t>(cycle.period.stretch)];
    std::set<StepPart> parts;
    for (std::int64_t t = 0; t < steady.turns; ++t) {
      parts.insert(schedule.program.order.turns[static_cast<std::size_t>(steady.first + t)].part);
    }
    for (StepPart part : parts) unrecorded[part] += more * steady.micro_batches;
  }
  return step;
}

}  // namespace fourfold::inline schedule::inline fold
