// Walks the folded step beside the timed program that was lowered from it; see program_detail.hpp.
#include "sim/explain/program_detail.hpp"

#include <algorithm>
#include <stdexcept>

#include "schedule/fold/pieces.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/lower.hpp"

namespace fourfold::inline sim::inline explain {

// A body's steps beside timed steps: kernels of neighbouring bundles share one timed step.
class ProgramDetail::Pairing {
 public:
  Pairing(const TimedProgram& program, const ProcessGrid& grid, const Software& software)
      : program_(program), grid_(grid), beside_(goes_beside_products(software, grid)) {}

  bool idle(const Channel& channel) const { return members(channel, grid_) == 1; }
  bool beside_products() const { return beside_; }
  double part(Piece piece) const { return part_of_kernel(piece, grid_.extent(Axis::x)); }

  // The timed step of a kernel: the next one, or the open one.
  std::int32_t compute() {
    if (!open_) expect(StepKind::compute);
    open_ = true;
    return next_ - 1;
  }
  std::int32_t communicate(StepKind kind) {
    open_ = false;
    expect(kind);
    return next_ - 1;
  }
  void end_body() { open_ = false; }
  void finish() const {
    if (next_ != static_cast<std::int32_t>(program_.steps.size())) disagree();
  }

 private:
  void expect(StepKind kind) {
    if (next_ >= static_cast<std::int32_t>(program_.steps.size()) ||
        program_.steps[static_cast<std::size_t>(next_)].kind != kind) {
      disagree();
    }
    ++next_;
  }
  [[noreturn]] static void disagree() {
    throw std::logic_error("a timeline was asked for with a program that is not its point's");
  }

  const TimedProgram& program_;
  const ProcessGrid& grid_;
  bool beside_ = false;
  std::int32_t next_ = 0;
  bool open_ = false;
};

ProgramDetail::ProgramDetail(const Point& point, const Platform& platform,
                             const TimedProgram& program)
    : program_(program), kernels_(program.steps.size()), post_names_(program.steps.size(), -1) {
  Pairing pairing(program, point.grid, platform.software);
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const NamedStep step =
        named_step(point.model, in_effect(point.options, point.grid), {stage, stages});
    LocalSizes sizes;
    sizes.evaluate(step.folded, point.grid, {micro_batch_tokens(point)});
    std::vector<Seconds> times;
    for (const OpClass& op : step.folded.classes) {
      times.push_back(kernel_time(op, sizes, platform, point.grid.size()));
    }
    for (std::size_t b = 0; b < step.folded.bodies.size(); ++b) add(step, b, times, pairing);
    first_sections_.push_back(static_cast<std::int32_t>(sections_.size()));
    sections_.insert(sections_.end(), step.sections.begin(), step.sections.end());
    for (const BodyCycle& cycle : step.folded.cycles) {
      const std::int64_t stretch = cycle.period.stretch;
      micro_batches_.push_back(
          stretch < 0 ? 0 : step.folded.steady.at(static_cast<std::size_t>(stretch)).micro_batches);
    }
  }
  pairing.finish();
}

void ProgramDetail::add(const NamedStep& step, std::size_t body, const std::vector<Seconds>& times,
                        Pairing& pairing) {
  const Folded& folded = step.folded;
  std::size_t start = 0;
  const auto compute = [&](std::int32_t c, std::int32_t kernel, Piece piece) {
    const auto timed = static_cast<std::size_t>(pairing.compute());
    const Seconds time = times[static_cast<std::size_t>(c)] * pairing.part(piece);
    const std::string& name = step.bodies[body].kernels.at(static_cast<std::size_t>(kernel));
    if (time.value > 0.0) kernels_[timed].push_back({number(name), time});
  };
  const auto communicate = [&](const FoldedStep& one) {
    if (one.kind == IssueKind::choose) {
      pairing.communicate(StepKind::choose);
      return;
    }
    const bool post = one.kind == IssueKind::start;
    const std::string* name = post ? &step.bodies[body].collectives.at(start++) : nullptr;
    if (pairing.idle(folded.channels[static_cast<std::size_t>(one.channel)])) return;
    const std::int32_t timed = pairing.communicate(post ? StepKind::post : StepKind::wait);
    if (post) post_names_[static_cast<std::size_t>(timed)] = number(*name);
  };
  PieceOrder(folded, folded.bodies[body]).each(pairing.beside_products(), compute, communicate);
  pairing.end_body();
}

std::int32_t ProgramDetail::number(const std::string& name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) names_.push_back(name);
  return static_cast<std::int32_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
}

std::int64_t ProgramDetail::span_count() const {
  std::int64_t count = 0;
  for (const RunCycle& cycle : program_.cycles) {
    for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
      const StepRun& run = program_.runs[static_cast<std::size_t>(r)];
      std::int64_t spans = 0;
      for (std::int32_t s = run.first; s < run.last; ++s) {
        const auto kernels =
            static_cast<std::int64_t>(kernels_[static_cast<std::size_t>(s)].size());
        spans += std::max<std::int64_t>(1, kernels);
      }
      count += spans * run.repeats * cycle.repeats;
    }
  }
  return count;
}

}  // namespace fourfold::inline sim::inline explain
