// Flags, table and JSON of `fourfold doctor`; see doctor_verb.hpp.
#include "bench/cli/doctor_verb.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/cli/flags.hpp"
#include "bench/doctor/diagnosis.hpp"
#include "bench/doctor/examine.hpp"
#include "scaling/words/output.hpp"
#include "support/prose.hpp"

namespace fourfold::inline bench::inline cli {

namespace {

nlohmann::ordered_json json_of(const std::vector<Symptom>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Symptom& finding : findings) {
    list.push_back({{"subject", finding.subject},
                    {"verdict", name(finding.verdict)},
                    {"found", finding.found},
                    {"cure", finding.cure}});
  }
  return list;
}

constexpr std::size_t indent = 29;  // columns before a sentence
constexpr std::size_t width = 120;

// Longer sentences go on in the same column.
std::string text_of(const std::vector<Symptom>& findings) {
  std::string text;
  const auto add = [&text](const std::string& head, const std::string& sentence) {
    std::string lines = wrapped(sentence, width - indent);
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 1 + indent) {
      lines.insert(at + 1, std::string(indent, ' '));
    }
    text += fmt::format("{:{}}{}\n", head, indent, lines);
  };
  for (const Symptom& finding : findings) {
    add(fmt::format("{:6} {}", name(finding.verdict), finding.subject), finding.found);
    if (!finding.cure.empty()) add("", "cure: " + finding.cure);
  }
  return text;
}

}  // namespace

int run_doctor_verb(const Started& started) {
  CLI::App app("Says what is wrong with this machine before a study, and what cures it.");
  bool json = false, plan = false;
  app.add_flag("--json", json, "print one line of JSON");
  app.add_flag("--plan", plan, "")->group("");
  app.footer(
      "Looks at the kernels OpenBLAS picks, at MPI's shared memory and binding, at cores, load, "
      "clock rate,\nlimits, /dev/shm and the programs that the verbs start. A note falsifies "
      "nothing. Takes seconds.\nExit status: 0 nothing is wrong, 1 something is, 2 it could not "
      "be examined.\n\n"
      "Examples:\n"
      "  fourfold doctor\n"
      "  fourfold doctor --json");
  if (const auto status = parsed(app, "fourfold doctor", started.arguments())) return *status;
  if (plan) {
    print(plan_of(1, "doctor", started.arguments()));
    return 0;
  }

  const std::string executable = std::filesystem::read_symlink("/proc/self/exe");
  const std::vector<Symptom> findings = diagnosis(examine(executable));
  const auto wrong = std::count_if(findings.begin(), findings.end(), [](const Symptom& finding) {
    return finding.verdict == Health::wrong;
  });
  if (json) {
    const nlohmann::ordered_json line{{"wrong", wrong}, {"findings", json_of(findings)}};
    print(line.dump() + "\n");
  } else {
    print(text_of(findings) +
          (wrong == 0 ? std::string("nothing is wrong")
                      : counted(wrong, "thing") + (wrong == 1 ? " is wrong" : " are wrong")) +
          "\n");
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace fourfold::inline bench::inline cli
