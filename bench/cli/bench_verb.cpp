// Flags of `fourfold bench`; see bench_verb.hpp.
#include "bench/cli/bench_verb.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "bench/cli/flags.hpp"
#include "bench/kinds/kinds.hpp"
#include "engine/batch.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/train/run/agreement.hpp"
#include "scaling/words/output.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "support/binary_size.hpp"
#include "support/flag_checks.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline bench::inline cli {

namespace {

struct BenchFlags {
  std::string kind, model = "gpt2-mini", grid, precision = "fp32", folder = ".";
  std::string platform = "frontier";
  std::vector<std::string> shapes, libraries, transports, sizes;
  std::int64_t ranks = 0, rounds = 20, sequences = 4;
  bool json = false, csv = false, plan = false;
};

void add_flags(CLI::App& app, BenchFlags& flags) {
  app.add_option("KIND", flags.kind, "what to measure; the list if absent");
  app.add_option("--ranks", flags.ranks, "MPI processes; 0: those of the grid, or the kind's own")
      ->check(whole_number(0, 1 << 20));
  app.add_option("--grid", flags.grid,
                 "XxYxZxDATA: cuts the products of gemm; lays out the ranks of collectives and "
                 "checkpoint (all along data without it)");
  app.add_option("--model", flags.model, "a name or a TOML file")->capture_default_str();
  app.add_option("--sequences", flags.sequences, "in a micro-batch, of all devices")
      ->capture_default_str()
      ->check(whole_number(1, 1 << 20));
  app.add_option("--shapes", flags.shapes, "gemm: MxNxK, or FORM:MxNxK with nn, nt or tn")
      ->delimiter(',');
  app.add_option("--libraries", flags.libraries, "gemm: OpenBLAS, oneDNN")->delimiter(',');
  app.add_option("--precision", flags.precision, "fp32 or bf16")->capture_default_str();
  app.add_option("--transports", flags.transports, "collectives: ring, window, library, auto")
      ->delimiter(',');
  app.add_option("--sizes", flags.sizes,
                 "p2p, collectives: bytes, such as 64KiB,4MiB; attention: tokens")
      ->delimiter(',');
  app.add_option("--folder", flags.folder, "checkpoint: where to write")->capture_default_str();
  app.add_option("--platform", flags.platform, "estimate, simulate: a name or a TOML file")
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "samples of each; fewer of what takes long")
      ->capture_default_str()
      ->check(whole_number(3, 1 << 20));
  CLI::Option* const json = app.add_flag("--json", flags.json, "print one line of JSON");
  app.add_flag("--csv", flags.csv, "print CSV")->excludes(json);
  app.add_flag("--plan", flags.plan, "")->group("");
  app.footer(
      "Times are min, p50, p90, p99 and max of n samples, each the slowest rank's. What is "
      "compared\n"
      "takes turns, and a share of a peak refers to the peak of the same rounds. What is computed "
      "is\n"
      "checked; a wrong number makes the exit status 1.\n\n"
      "Examples:\n"
      "  fourfold bench\n"
      "  fourfold bench gemm --model gpt2-124m --sequences 1 --grid 2x1x1x1\n"
      "  fourfold bench gemm --shapes nn:1024x1024x1024,nt:512x8192x768 --json\n"
      "  fourfold bench collectives --ranks 4 --grid 2x1x2x1 --sizes 64KiB,4MiB\n"
      "  fourfold bench checkpoint --ranks 2 --folder /scratch --csv");
}

const BenchKind& kind_named(const std::string& text) {
  std::vector<std::string> known;
  for (const BenchKind& kind : bench_kinds()) {
    if (text == kind.name) return kind;
    known.emplace_back(kind.name);
  }
  throw std::invalid_argument("nothing to measure is called '" + text + "'" +
                              did_you_mean(text, known));
}

Product shape_of(const std::string& text, Precision precision) {
  Product product;
  product.a = product.b = product.out = precision;
  std::string extents = text;
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    std::string form = text.substr(0, colon);
    std::transform(form.begin(), form.end(), form.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    product.form = form_named(form);
    extents = text.substr(colon + 1);
  }
  char end = 0;
  constexpr std::int64_t most = 1 << 20;
  long long m = 0, n = 0, k = 0;
  if (std::sscanf(extents.c_str(), "%lldx%lldx%lld%c", &m, &n, &k, &end) != 3 ||
      std::min({m, n, k}) < 1 || std::max({m, n, k}) > most) {
    throw std::invalid_argument("'" + text +
                                "' is no shape MxNxK or FORM:MxNxK of whole numbers "
                                "from 1 to 1048576");
  }
  product.m = m;
  product.n = n;
  product.k = k;
  return product;
}

// A flag that the kind does not look at is refused, rather than left without effect.
void refuse_without_effect(const CLI::App& app, const std::string& kind) {
  struct Use {
    const char* flag;
    std::vector<std::string> kinds;
  };
  const std::vector<Use> uses{{"--shapes", {"gemm"}},
                              {"--libraries", {"gemm"}},
                              {"--model", {"gemm", "maps", "attention", "checkpoint"}},
                              {"--sequences", {"gemm", "maps"}},
                              {"--precision", {"gemm", "maps", "attention"}},
                              {"--grid", {"gemm", "collectives", "checkpoint"}},
                              {"--transports", {"collectives"}},
                              {"--sizes", {"p2p", "collectives", "attention"}},
                              {"--folder", {"checkpoint"}},
                              {"--platform", {"estimate", "simulate"}}};
  for (const Use& use : uses) {
    const bool used = std::find(use.kinds.begin(), use.kinds.end(), kind) != use.kinds.end();
    if (!used && app.get_option(use.flag)->count() > 0) {
      throw std::invalid_argument(fmt::format("{} has no effect on bench {}", use.flag, kind));
    }
  }
  for (const char* flag : {"--model", "--sequences", "--grid"}) {
    if (app.get_option("--shapes")->count() == 0 || app.get_option(flag)->count() == 0) continue;
    throw std::invalid_argument(
        fmt::format("{} has no effect beside --shapes, which says all products; leave one of them "
                    "out",
                    flag));
  }
}

bool lays_out_ranks(const std::string& kind) {
  return kind == "collectives" || kind == "checkpoint";
}

std::int64_t ranks_of(const BenchFlags& flags) {
  const BenchKind& kind = kind_named(flags.kind);
  if (flags.grid.empty() || !lays_out_ranks(flags.kind)) {
    return flags.ranks > 0 ? flags.ranks : kind.ranks;
  }
  const std::int64_t size = ProcessGrid::parse(flags.grid).size();
  if (flags.ranks > 0 && flags.ranks != size) {
    throw std::invalid_argument(
        fmt::format("grid {} has {} ranks, not {}", flags.grid, size, flags.ranks));
  }
  return size;
}

// Everything that can be refused before ranks are started.
BenchQuestion question_of(const BenchFlags& flags, std::int64_t ranks) {
  BenchQuestion question;
  question.model = read_model(flags.model);
  question.sequences = flags.sequences;
  question.precision = step_fields().with({}, "--precision", flags.precision).precision;
  question.rounds = flags.rounds;
  question.folder = flags.folder;
  question.platform = flags.platform;
  if (!flags.grid.empty()) {
    question.grid = ProcessGrid::parse(flags.grid);
  } else if (lays_out_ranks(flags.kind)) {
    question.grid = ProcessGrid(1, 1, 1, ranks);
  }
  if (lays_out_ranks(flags.kind) && question.grid.size() != ranks) {
    throw std::invalid_argument(fmt::format("grid {} has {} ranks, but {} were started",
                                            question.grid.str(), question.grid.size(), ranks));
  }
  if (flags.kind == "checkpoint") check(question.model, question.grid);
  if (flags.kind == "gemm" && flags.shapes.empty()) {  // the products of a step that can be done
    const std::string why = misfit(question.model, question.grid, question.sequences, {});
    if (!why.empty()) throw std::invalid_argument(why);
  }
  if ((flags.kind == "p2p" || flags.kind == "collectives") && ranks < 2) {
    throw std::invalid_argument(fmt::format("bench {} needs two ranks or more", flags.kind));
  }
  for (const std::string& shape : flags.shapes) {
    question.shapes.push_back(shape_of(shape, question.precision));
  }
  if (!flags.libraries.empty()) question.libraries.clear();
  for (const std::string& library : flags.libraries) {
    question.libraries.push_back(library_named(library));
  }
  if (!flags.transports.empty()) question.transports.clear();
  for (const std::string& transport : flags.transports) {
    question.transports.push_back(parse_transport(transport));
  }
  for (const std::string& size : flags.sizes) question.sizes.push_back(size_from_text(size));
  return question;
}

std::string list_of_kinds() {
  std::string text = "fourfold bench KIND measures\n";
  for (const BenchKind& kind : bench_kinds()) {
    text +=
        fmt::format("  {:12} {} ({})\n", kind.name, kind.what,
                    kind.ranks == 1 ? std::string("1 rank") : fmt::format("{} ranks", kind.ranks));
  }
  return text + "fourfold bench --help explains flags and columns.\n";
}

int measure(const BenchFlags& flags, const Session& session) {
  BenchQuestion question;
  together([&] { question = question_of(flags, session.ranks()); });
  on_first_rank([&] { say_what_is_not_said(flags.model); });
  const BenchHeader header = bench_header();
  const BenchTable table = kind_named(flags.kind).measure(question);
  on_first_rank([&] {
    const auto write = flags.json ? bench_json : flags.csv ? bench_csv : bench_text;
    print(write(header, table));
  });
  const bool right = std::all_of(table.rows.begin(), table.rows.end(),
                                 [](const BenchRow& row) { return row.right; });
  return right ? 0 : 1;
}

}  // namespace

int run_bench_verb(const Started& started) {
  CLI::App app("Measures this machine: products, memory, attention, messages, collectives, files.");
  BenchFlags flags;
  add_flags(app, flags);
  if (const auto status = parsed(app, "fourfold bench", started.arguments())) return *status;
  if (flags.plan && flags.kind.empty()) {
    print(plan_of(1, "bench", started.arguments()));
    return 0;
  }
  if (flags.kind.empty()) {
    print(list_of_kinds());
    return 0;
  }
  if (flags.plan) {
    refuse_without_effect(app, kind_named(flags.kind).name);
    const std::int64_t ranks = ranks_of(flags);
    question_of(flags, ranks);
    print(plan_of(ranks, "bench", started.arguments()));
    return 0;
  }
  repair_openblas_core(CoreWish::repair);
  return work_over_mpi(started, [&](const Session& session) { return measure(flags, session); });
}

}  // namespace fourfold::inline bench::inline cli
