// Writes a program out, saying repeated layers once; see print.hpp.
#include "schedule/fold/print.hpp"

#include "schedule/fold/fold.hpp"
#include "schedule/fold/names.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline schedule::inline fold {

namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string extents(const Program& program, Id id) {
  const Value& value = program[id];
  if (!value.members.empty()) {
    return "pack of " + std::to_string(value.members.size()) + " values";
  }
  const Shape& s = value.shape;
  return s.rows.str() + " x " + s.cols.str();
}

class Printer {
 public:
  Printer(const Model& model, const StepOptions& options)
      : model_(model),
        schedule_phase_(options.phase),
        schedule_(issue(record_step(model, one_of(options)), one_of(options))) {}

  std::string text() {
    header();
    const Folded folded = fold_schedule(schedule_);
    for (const BodyCycle& cycle : folded.cycles) {
      for (const BodyRun& run : cycle.runs) body(folded, run);
    }
    return std::move(text_);
  }

 private:
  static StepOptions one_of(StepOptions options) {
    options.micro_batches = 1;
    return options;
  }

  void line(const std::string& text) { text_ += text + '\n'; }

  void header() {
    const std::string shape = block_shape(model_);
    const Phase phase = schedule_phase_;
    line(std::string(phase == Phase::training ? "training step" : row_of(phase).name) + " of " +
         model_.name + ": " + std::to_string(model_.layers) + " layers, hidden " +
         std::to_string(model_.hidden) + ", " + std::to_string(model_.heads) + " heads, sequence " +
         std::to_string(model_.sequence) + ", vocabulary " + std::to_string(model_.vocabulary) +
         (shape.empty() ? "" : "; ") + shape);
    line(
        "one micro-batch, in issue order; `start` and `wait` of a collective stand apart where an "
        "overlap moves them");
    line("a sharding names the axes that cut rows and columns, flat pieces, and what is owed");
  }

  void body(const Folded& folded, const BodyRun& run) {
    const Body& body = folded.bodies[static_cast<std::size_t>(run.body)];
    if (body.steps.empty()) return;  // the start declares values and does nothing
    const Section& section = schedule_.program.sections[static_cast<std::size_t>(body.section)];
    std::string title = section.name;
    if (section.layer >= 0) title += ", layer " + std::to_string(section.layer);
    if (run.repeats > 1) title += ", and " + std::to_string(run.repeats - 1) + " more alike";
    line("\n== " + title + " ==");
    for (std::size_t i = 0; i < schedule_.sections.size(); ++i) {
      if (schedule_.sections[i].section != body.section) continue;
      const std::size_t last = schedule_.end_of(i);
      for (auto s = static_cast<std::size_t>(schedule_.sections[i].first); s < last; ++s) {
        step(schedule_.stream[s]);
      }
    }
  }

  void step(const Issue& issue) {
    if (issue.kind == IssueKind::allocate || issue.kind == IssueKind::release) return;
    const Program& p = schedule_.program;
    const Op& op = p.ops[static_cast<std::size_t>(issue.id)];
    std::string verb = op.verb();
    if (op.kind == OpKind::gemm) verb += std::string(" ") + name(op.form);
    if (!op.is(functions::none)) verb += std::string(" ") + op.function->name;
    const Id first = op.kind == OpKind::update ? op.inputs[0] : op.outputs[0];
    const Value& value = p[first];
    if (is_collective(op.kind)) {
      const bool start = issue.kind == IssueKind::start;
      verb = std::string(start ? "start " : "wait ") + verb + " " + name(op.axis);
      if (!start) return line("  " + padded(verb, 32) + value.label.alike());
    }
    line("  " + padded(verb, 32) + padded(value.label.alike(), 32) + padded(extents(p, first), 18) +
         " " + name(value.precision) + "  " + value.shape.sharding.str());
  }

  Model model_;
  Phase schedule_phase_;
  Schedule schedule_;
  std::string text_;
};

}  // namespace

std::string print_program(const Model& model, const StepOptions& options) {
  return Printer(model, options).text();
}

}  // namespace fourfold::inline schedule::inline fold
