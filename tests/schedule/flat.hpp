// Schedules and folded schedules written out flat, step by step and in words, the slow and obvious
// way: two of them are equal if they would make a device do the same.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "schedule/fold/fold.hpp"
#include "schedule/fold/product_sum.hpp"

namespace fourfold::tests {

struct Flat {
  std::vector<std::string> steps;   // computations, starts and waits in order
  std::vector<std::string> events;  // allocations and releases in order
  bool operator==(const Flat&) const = default;
};

inline std::string in_words(const Shape& s) {
  return s.rows.str() + "x" + s.cols.str() + " " + s.sharding.str();
}

// "2 of 48x1 cols {y}, fp32": shapes in alphabetical order.
inline std::string in_words(const std::map<std::string, int>& terms, Precision precision) {
  std::string text;
  for (const auto& [shape, times] : terms) text += std::to_string(times) + " of " + shape + ", ";
  return text + name(precision);
}

inline void add_terms(const Program& program, Id id, std::map<std::string, int>& terms) {
  const Value& value = program[id];
  for (Id member : value.members) add_terms(program, member, terms);
  if (value.members.empty()) ++terms[in_words(value.shape)];
}

inline std::string in_words(const Program& program, Id id) {
  std::map<std::string, int> terms;
  add_terms(program, id, terms);
  return in_words(terms, program[id].precision);
}

inline std::string event_in_words(bool born, const std::string& size, Role role,
                                  Existence existence, Axis axis) {
  return std::string(born ? "+ " : "- ") + name(role) + " " + size + " " +
         std::to_string(static_cast<int>(existence)) + name(axis);
}

inline Flat flat(const Schedule& schedule) {
  const Program& p = schedule.program;
  std::vector<std::string> sizes;
  for (std::size_t id = 0; id < p.values.size(); ++id) {
    sizes.push_back(in_words(p, static_cast<Id>(id)));
  }
  const auto size = [&](Id id) { return sizes[static_cast<std::size_t>(id)]; };
  Flat result;
  std::vector<std::int32_t> posts(p.channels.size()), waited(p.channels.size());
  for (const Issue& issue : schedule.stream) {
    if (issue.kind == IssueKind::allocate || issue.kind == IssueKind::release) {
      result.events.push_back(event_in_words(issue.kind == IssueKind::allocate, size(issue.id),
                                             p[issue.id].role, issue.existence, issue.axis));
      continue;
    }
    const Op& op = p.ops[static_cast<std::size_t>(issue.id)];
    // Operations that are no collectives have no channel and use none.
    const auto channel = static_cast<std::size_t>(std::max(op.channel, 0));
    if (issue.kind == IssueKind::start) {
      ++posts[channel];
      const bool gathers = op.kind == OpKind::all_gather;
      result.steps.push_back(std::string("start ") + name(op.kind) + " " +
                             name(p.channels[channel]) + " " +
                             size(gathers ? op.outputs[0] : op.inputs[0]));
    } else if (issue.kind == IssueKind::wait) {
      // Whoever waited for a post of a FIFO channel has waited for all before it.
      if (posts[channel] - issue.back <= waited[channel]) continue;
      waited[channel] = posts[channel] - issue.back;
      result.steps.push_back(std::string("wait ") + name(p.channels[channel]) + " " +
                             std::to_string(issue.back));
    } else {
      std::string text = std::string(name(op.kind)) + " " + cost_function(p, op)->name + " " +
                         name(op.form) + " " + std::to_string(op.attributes.sequence) + " reads";
      for (Id id : op.inputs) text += " [" + size(id) + "]";
      text += " writes";
      for (Id id : op.outputs) text += " [" + size(id) + "]";
      for (std::size_t i = 0; i < op.inputs.size() && i < 2; ++i) {
        text += " / " + in_words(p[op.inputs[i]].shape);
      }
      result.steps.push_back(text);
    }
  }
  return result;
}

inline Flat flat(const Folded& folded) {
  std::vector<std::string> sizes;
  for (const Size& size : folded.sizes) {
    std::map<std::string, int> terms;
    for (const Size::Term& term : size.terms) {
      terms[in_words(folded.shapes[static_cast<std::size_t>(term.shape)])] += term.times;
    }
    sizes.push_back(in_words(terms, size.precision));
  }
  const auto size = [&](std::int32_t i) { return sizes[static_cast<std::size_t>(i)]; };
  std::vector<std::string> classes;
  for (const OpClass& c : folded.classes) {
    std::string text = std::string(name(c.kind)) + " " + c.function->name + " " + name(c.form) +
                       " " + std::to_string(c.attributes.sequence) + " reads";
    for (std::int32_t i : c.reads) text += " [" + size(i) + "]";
    text += " writes";
    for (std::int32_t i : c.writes) text += " [" + size(i) + "]";
    for (std::int32_t shape : {c.shape_a, c.shape_b}) {
      if (shape >= 0) text += " / " + in_words(folded.shapes[static_cast<std::size_t>(shape)]);
    }
    classes.push_back(text);
  }
  constexpr const char* kinds[]{"all_gather", "reduce_scatter", "all_reduce"};
  std::vector<Flat> bodies;
  for (const Body& body : folded.bodies) {
    Flat one;
    for (const FoldedStep& s : body.steps) {
      if (s.kind == IssueKind::start) {
        const CollectiveClass& c = folded.collectives[static_cast<std::size_t>(s.index)];
        one.steps.push_back(std::string("start ") + kinds[static_cast<int>(c.kind)] + " " +
                            name(folded.channels[static_cast<std::size_t>(c.channel)]) + " " +
                            size(c.buffer));
      } else if (s.kind == IssueKind::wait) {
        one.steps.push_back(std::string("wait ") +
                            name(folded.channels[static_cast<std::size_t>(s.channel)]) + " " +
                            std::to_string(s.back));
      } else {
        for (std::int32_t c : folded.bundles[static_cast<std::size_t>(s.index)]) {
          one.steps.push_back(classes[static_cast<std::size_t>(c)]);
        }
      }
    }
    for (const BufferEvent& e : body.events) {
      one.events.push_back(event_in_words(e.sign > 0, size(e.size), e.role, e.existence, e.axis));
    }
    bodies.push_back(std::move(one));
  }
  Flat result;
  for (const BodyCycle& cycle : folded.cycles) {
    for (std::int64_t i = 0; i < cycle.repeats; ++i) {
      for (const BodyRun& run : cycle.runs) {
        const Flat& body = bodies[static_cast<std::size_t>(run.body)];
        for (std::int64_t k = 0; k < run.repeats; ++k) {
          result.steps.insert(result.steps.end(), body.steps.begin(), body.steps.end());
          result.events.insert(result.events.end(), body.events.begin(), body.events.end());
        }
      }
    }
  }
  return result;
}

// Where two flat schedules first differ; empty if they do not.
inline std::string first_difference(const Flat& a, const Flat& b) {
  const auto differ = [](const std::vector<std::string>& left,
                         const std::vector<std::string>& right) -> std::string {
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (left[i] != right[i]) {
        return "at " + std::to_string(i) + ": " + left[i] + " against " + right[i];
      }
    }
    return left.size() == right.size()
               ? ""
               : std::to_string(left.size()) + " against " + std::to_string(right.size());
  };
  const std::string steps = differ(a.steps, b.steps);
  const std::string events = differ(a.events, b.events);
  return (steps.empty() ? "" : "steps " + steps) + (events.empty() ? "" : " events " + events);
}

}  // namespace fourfold::tests
