// Templates of job scripts: words are put in, and what is misspelt is named.
#include "scaling/jobs/job_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "scaling/study/campaign_run.hpp"
#include "scaling/study/report.hpp"
#include "support/text_file.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

TEST(JobScripts, AreFilledOnceAndRefuseWhatIsUnknownMissingOrReadTwice) {
  const auto said = [](const std::string& text) {
    return refusal<std::runtime_error>([&] {
      filled(text, {{"command", "'a' b"}, {"folder", "/x y/$(z)"}, {"name", "n"}});
    });
  };
  for (const auto& [text, words] :
       {std::pair{"{{command}} {{nmae}}", "did you mean \"name\"?"},
        {"{{ command}}", "unknown {{ command}}"},
        {"{{name}}", "lacks {{command}}"},
        {"{{command}} {{name", "lacks a }}"},
        {"cd \"{{folder}}\"\n{{command}}",
         "the template has {{folder}} between quotes, and it has its "
         "own: leave them out"},
        {"bash -c \"{{command}}\"", "{{command}} between quotes"},
        {"#PBS -o {{folder}}\n{{command}}", "takes letters, digits"},
        {"cd {{folder}} && {{command}}", "accepted"},
        {"echo '{{name}}' it\\'s {{folder}}\n{{command}}", "accepted"}}) {
    EXPECT_THAT(said(text), HasSubstr(words)) << text;
  }
  const std::map<std::string, std::string> words{{"command", "{{name}}"}, {"name", "n"}};
  EXPECT_EQ(filled("{{command}}", words), "{{name}}") << "what is put in is not looked at again";
  EXPECT_EQ(filled("a{{name}}{{command}}b", words), "an{{name}}b");
  EXPECT_EQ(filled("{name} }} {{command}} }}", words), "{name} }} {{name}} }}");
  EXPECT_EQ(filled("#PBS -o {{folder}}\n{{command}}", {{"command", "c d"}, {"folder", "/x y"}}),
            "#PBS -o '/x y'\nc d");
  EXPECT_EQ(job_name("-a b\n$(c)", launcher_named("slurm")), "j-a_b___c_");
}

std::vector<std::string> directives(const std::string& script, const std::string& mark) {
  std::vector<std::string> found;
  for (const TextLine& line : lines_of(script)) {
    if (line.text.starts_with(mark + ' ')) found.push_back(line.text.substr(mark.size() + 1));
  }
  return found;
}

// What each scheduler takes on a line of its own, by its manual: sbatch(1), qsub(1B), bsub(1) and
// flux-batch(1).
struct Rules {
  const char *launcher, *mark;
  std::vector<const char*> lines;
};
const std::vector<Rules>& rules() {
  static const std::vector<Rules> all{
      {"slurm",
       "#SBATCH",
       {R"(--(job-name|output)=([^ '%]|%a)+)",
        R"(--output='[^'%]+(%a)?[^'%]*'(/slice-%a.log|/devices-\d+.log))", R"(--array=1-[1-9]\d*)",
        R"(--(nodes|ntasks|ntasks-per-node|cpus-per-task)=[1-9]\d*)",
        R"(--time=\d+:[0-5]\d:[0-5]\d)", R"(--exclusive)"}},
      {"pbs",
       "#PBS",
       {R"(-N [A-Za-z][A-Za-z0-9_.+-]{0,14})", R"(-J 1-([2-9]|[1-9]\d+))",
        R"(-l select=[1-9]\d*(:(ncpus|mpiprocs)=[1-9]\d*)+)", R"(-l place=scatter:excl)",
        R"(-l walltime=\d+:[0-5]\d:[0-5]\d)", R"(-j oe)"}},
      {"lsf",
       "#BSUB",
       {R"(-J "[A-Za-z][A-Za-z0-9_.-]*\[1-[1-9]\d*\]")", R"(-J [A-Za-z][A-Za-z0-9_.-]*)",
        R"(-n [1-9]\d*)",
        R"x(-R "(span\[(hosts=1|ptile=[1-9]\d*)\]|affinity\[core\([1-9]\d*\)\])")x", R"(-x)",
        R"(-W [1-9]\d*)", R"(-o ([^ '%]|%I)+)", R"(-o '[^'%]+'/(slice-%I|devices-\d+).log)"}},
      {"flux",
       "#flux:",
       {R"(--(job-name|output)=[^ '{]+)", R"(--output='[^'{]+'/devices-\d+.log)",
        R"(--(nodes|nslots|cores-per-slot)=[1-9]\d*)", R"(--time-limit=[1-9]\d*m)",
        R"(--exclusive)"}}};
  return all;
}

// Whatever a campaign is called, wherever it lies and however many jobs it has.
TEST(JobScripts, AreTakenByTheirSchedulers) {
  const std::vector<std::string> names{"sc24_weak",
                                       "7b",
                                       "-x",
                                       "a b",
                                       "naïve \"study\"; rm -rf ~",
                                       "$(date)",
                                       ".hidden",
                                       "%j",
                                       std::string(300, 'n'),
                                       "{cc}"};
  for (const Rules& of : rules()) {
    const Launcher& launcher = launcher_named(of.launcher);
    for (const std::string& name : names) {
      for (const char* folder : {"/scratch/u/out", "/scratch/my studies/out"}) {
        for (const std::int64_t jobs : {1, 2, 4096}) {
          for (const JobKind kind : {JobKind::slices, JobKind::measured}) {
            const std::string number = std::to_string(jobs);
            std::map<std::string, std::string> words{
                {"command", "run"},  {"quoted_command", "'run'"}, {"time", "36:00:00"},
                {"minutes", "2160"}, {"folder", folder},          {"directory", folder}};
            const bool sliced = kind == JobKind::slices;
            words["name"] = job_name(name, launcher, sliced ? 0 : 1 + number.size());
            for (const char* word : {"slices", "devices", "nodes", "ranks_per_node",
                                     "cores_per_rank", "cores_per_node"}) {
              words[word] = number;
            }
            const std::string text = content_of(template_of(launcher, kind));
            const std::string script =
                filled(sliced ? for_slices(text, launcher, jobs) : text, words);
            const auto lines = directives(script, of.mark);
            EXPECT_EQ(lines.empty(), sliced && std::string(of.launcher) == "flux");
            for (const std::string& line : lines) {
              EXPECT_TRUE(std::ranges::any_of(
                  of.lines,
                  [&](const char* rule) { return std::regex_match(line, std::regex(rule)); }))
                  << of.launcher << ": " << line;
            }
          }
        }
      }
    }
  }
}

// A shell reads quotes, comments and here-documents over lines: whatever a template has before a
// word, a name that a shell could take for more than a name is refused there or stands as a word.
TEST(JobScripts, GiveNoNameToTheShellAsCode) {
  const std::map<std::string, std::string> hostile{
      {"command", "fourfold campaign run '$(touch X).toml'"}, {"folder", "a\ntouch X;#"}};
  const std::map<std::string, std::string> harmless{{"command", "fourfold campaign run a.toml"},
                                                    {"folder", "my folder"}};
  for (const char* before :
       {"srun bash -c '\n", "srun bash -c \"\n", "cat <<EOF\n", "cat > f <<-'EOF'\n", "echo `",
        "echo $'it\\'s ", "cd /x # ", "  # in ", "(cd /x;# "}) {
    for (const char* word : {"{{command}}", "{{folder}}"}) {
      const std::string text = std::string(before) + word + "\n# {{command}}";
      EXPECT_NE(refusal<std::runtime_error>([&] { filled(text, hostile); }), "") << text;
      EXPECT_NO_THROW(filled(text, harmless)) << text;
    }
  }
  for (const char* before : {"# it's\n", "echo 'a' \"b's\" \\' ", "a#b ", "${#list} "}) {
    const std::string text = std::string(before) + "{{command}} {{folder}}";
    EXPECT_EQ(filled(text, hostile),
              std::string(before) + "fourfold campaign run '$(touch X).toml' 'a\ntouch X;#'");
  }
}

TEST(Reports, EncodeBytesAsBase64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe foobar"), "//4gZm9vYmFy");
}

}  // namespace
}  // namespace fourfold::tests
