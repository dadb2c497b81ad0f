// A law: text of files and names is never code. Hostile names stand in every place of a figure, a
// report, a drawing, a table and a job script; nothing runs, and each place shows the name as it
// is.
#include "tests/scaling/hostile_names.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/show/simgrid_xml.hpp"
#include "scaling/jobs/job_script.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/memorisation_record.hpp"
#include "scaling/study/picture.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/study/report.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/text/order_drawing.hpp"
#include "scaling/words/toml_file.hpp"
#include "support/markup_text.hpp"
#include "support/shell_word.hpp"
#include "support/toml_text.hpp"
#include "support/visible_text.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/drawn_studies.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

namespace files = std::filesystem;
using ::testing::HasSubstr;

// A folder to work in, in which nothing is left behind.
class HostileNames : public ::testing::Test {
 protected:
  HostileNames() : before_(files::current_path()) { files::current_path(folder_.file("")); }
  ~HostileNames() override {
    files::current_path(before_);
    for (const auto& entry : files::recursive_directory_iterator(folder_.file(""))) {
      EXPECT_NE(entry.path().filename(), "canary") << entry.path();
      EXPECT_EQ(entry.path().string().find("fourfold-draft"), std::string::npos) << entry.path();
    }
  }
  static void tell(std::size_t names, std::size_t places) {
    fmt::print("{} hostile names x {} places = {} tried\n", names, places, names * places);
  }

  TemporaryFolder folder_;

 private:
  files::path before_;
};

std::string as_file_name(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name.substr(0, 200);
}

JobResult run(const std::vector<std::string>& command, const std::string& input = "") {
  return run_side_by_side({{command, input}}).front();
}

// Parses every .svg, .xml and .html below the folder, and holds that texts.json, by file, is shown.
void expect_sound_markup() {
  const JobResult result = run({"python3", "-c", R"(
import html.parser, json, pathlib, sys
import xml.etree.ElementTree as tree
known = set("html head meta title style body h1 h2 div table thead tbody tr th td p ul li img pre script".split())
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.text = ""
        self.scripts = 0
    def handle_starttag(self, tag, attributes):
        assert tag in known, tag
        self.scripts += tag == "script"
        for name, value in attributes:
            assert not name.startswith("on"), name
            assert name != "src" or value.startswith("data:image/svg+xml;base64,"), value
    def handle_data(self, data):
        self.text += data
def plain(text):  # blanks are not kept everywhere
    return " ".join(text.split())
texts = json.load(open("texts.json"))
count = 0
for path in pathlib.Path(".").rglob("*"):
    if path.suffix in (".svg", ".xml"):
        text = "".join(tree.parse(path).getroot().itertext()) + "".join(
            "".join(e.attrib.values()) for e in tree.parse(path).iter())
    elif path.suffix == ".html":
        page = Page()
        page.feed(path.read_text("utf-8"))
        assert page.scripts == 1, page.scripts
        text = page.text
    else:
        continue
    count += 1
    for wanted in texts.get(str(path), []):
        assert plain(wanted) in plain(text), (str(path), wanted, text[:2000])
assert count > 0
)"});
  EXPECT_EQ(result.status, 0) << result.complaint;
}

// Of a few studies of each kind, with other names.
Study hostile_study(Drawn kind, std::size_t first) {
  const std::vector<std::string> names = hostile_names();
  std::size_t next = first;
  const auto name = [&] { return names[next++ % names.size()]; };
  Study study = drawn_study(static_cast<std::int64_t>(first), kind);
  study.title = name();
  study.published_source = name();
  study.axis = name();
  for (StudyRow& row : study.rows) {
    row.machine = name();
    row.record.point.model.name = name();
    row.record.system = kind == Drawn::systems ? name() : "";
    row.label = kind == Drawn::swept ? name() : "";
    row.line = row.label;
    row.record.provenance.host = name();
    if (row.record.bar) row.record.bar->like = name();
  }
  if (kind == Drawn::swept) {  // all of one point, so that they are compared
    for (StudyRow& row : study.rows) {
      row.machine = study.rows.front().machine;
      row.record.point = study.rows.front().record.point;
    }
  }
  return study;
}

std::string one_line(std::string text) {
  for (char& letter : text) letter = letter == '\n' || letter == '\t' ? ' ' : letter;
  for (std::size_t at = 0; (at = text.find("&#", at)) != std::string::npos;) text.insert(++at, " ");
  return visible(text);
}

TEST_F(HostileNames, AreShownInFiguresAndReportsAsTheyAre) {
  nlohmann::json texts;
  std::size_t first = 0, pictures = 0;
  while (first < hostile_names().size()) {
    for (const auto& [kind, figures] : std::vector<std::pair<Drawn, std::vector<std::string>>>{
             {Drawn::plain, {"pflops", "time", "strong"}},
             {Drawn::swept, {"lines", "machines", "time"}},
             {Drawn::systems, {"systems", "machines", "strong"}},
             {Drawn::ranked, {"ranks"}}}) {
      const Study study = hostile_study(kind, first);
      const std::string where = fmt::format("{} {}", as_file_name(study.title), first);
      files::create_directories(where);

      const DrawnFigures drawn = draw_figures(figures, study, where);

      ReportParts parts{study.title, {}, {study.title}, study.axis, {study.published_source}};
      for (const std::string& figure : figures) {
        EXPECT_FALSE(drawn.failures.contains(figure)) << drawn.failures.at(figure);
        const std::string picture = where + '/' + figure + ".svg";
        if (!files::exists(picture)) {
          ADD_FAILURE() << picture << ": " << drawn.said;
          continue;
        }
        parts.pictures.push_back(picture);
        texts[fmt::format("{}/{}.svg", where, figure)] = {one_line(study.title)};
        if (figure == "machines") {
          for (const StudyRow& row : study.rows) {
            texts[picture].push_back(one_line(csv_cell(row.machine)).substr(0, 80));
          }
        }
        ++pictures;
      }
      write_content(where + "/report.html", report_html(study, parts));
      texts[where + "/report.html"] = {visible(study.title), visible(study.rows[0].machine)};
      first += 6;
    }
  }
  for (auto& [path, wanted] : texts.items()) {
    for (auto& one : wanted) one = one.get<std::string>().substr(0, 60);
  }
  write_content("texts.json", texts.dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore));
  expect_sound_markup();
  tell(hostile_names().size(), 12);
  EXPECT_GE(pictures, 30u);
}

// Loss curves of models and data, influences, memorisation and validations of the same names.
TEST_F(HostileNames, AreShownInOtherPicturesAsTheyAre) {
  const std::vector<std::string> names = hostile_names();
  const auto name = [&](std::size_t i) { return names[i % names.size()]; };
  std::vector<Picture> pictures;
  nlohmann::json texts;
  const auto add = [&](const std::string& script, const std::string& csv,
                       const std::vector<std::string>& words, const std::string& shown) {
    const std::string output = fmt::format("{}{}", script, pictures.size());
    pictures.push_back({script, csv, output, words});
    texts[output + ".svg"] = {one_line(shown).substr(0, 60)};
  };
  for (std::size_t i = 0; i < names.size(); i += 3) {
    add("loss", "step,training_loss,validation_loss,unigram_nats,resumed\n1,5,,4,0\n2,4,4.5,4,1\n",
        {name(i), name(i + 1), name(i + 2)}, name(i + 1));
  }
  for (std::size_t i = 0; i < names.size(); i += 6) {
    MemorisationStudy study;
    study.repetitions = {0, 1};
    std::vector<MemorisationSeries> series;
    std::string scatter = "study,published_s,projected_s\n", influence;
    for (std::size_t k = i; k < i + 6; ++k) {
      series.push_back({name(k), 1e6, k % 2 == 1, {0.0, 50.0}, {0.0, 40.0}, {0.0, 60.0}});
      scatter += fmt::format("{},{},{}\n", csv_cell(name(k)), k + 1, k + 2);
    }
    add("memorisation", memorisation_csv(study, series), {name(i)}, name(i));
    texts[pictures.back().output + ".svg"].push_back(one_line(csv_cell(name(i + 1))).substr(0, 60));
    add("scatter", scatter, {name(i)}, csv_cell(name(i)));
    add("influence", "choice,share,alone,share_feasible,alone_feasible\nx,0.5,0.2,0.4,0.1\n",
        {name(i)}, name(i));
  }

  for (const std::string& failure : draw(pictures)) EXPECT_EQ(failure, "");

  write_content("texts.json", texts.dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore));
  expect_sound_markup();
  tell(names.size(), 8);
}

TEST_F(HostileNames, AreTextInMarkup) {
  nlohmann::json texts;
  std::size_t number = 0;
  OrderChart chart;
  chart.stages = {{}};
  chart.end = {1.0};
  Platform platform = read_platform("alps");
  for (const std::string& name : hostile_names()) {
    const std::string file = std::to_string(++number);
    write_content(file + ".svg", order_svg(chart, name));
    platform.title = name;
    platform.name = name;
    write_content(file + ".xml", simgrid_xml(platform, 2));
    texts[file + ".svg"] = texts[file + ".xml"] = {visible(name).substr(0, 40)};
    write_content(file + "-text.xml",
                  "<a b=\"" + markup_text(name) + "\">" + markup_text(name) + "</a>");
  }
  write_content("texts.json", texts.dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore));
  expect_sound_markup();
  tell(number, 5);
}

TEST_F(HostileNames, AreOneCellAndOneValue) {
  for (const std::string& name : hostile_names()) {
    const std::string cell = csv_cell(name);
    EXPECT_EQ(cell.find_first_of(",\n\t\r\"'\\"), std::string::npos) << cell;
    EXPECT_NE(cell.find_first_of("=+-@"), 0u) << cell;
    const std::string table = gnuplot_table("a,\"" + cell + "\",b\n");
    EXPECT_EQ(std::ranges::count(table, '\t'), 2) << table;
    EXPECT_EQ(gnuplot_text(name).find('\n'), std::string::npos);
    write_content("a.toml", "a = " + toml_string(name) + "\nb = 1\n");
    const nlohmann::json read = read_toml("a.toml");
    EXPECT_EQ(read.at("a"), visible(name));
    EXPECT_EQ(read.size(), 2u);
  }
  EXPECT_EQ(gnuplot_table("a,\"b, \"\"c\"\"\",\n\\x,\"\"\n"), "a\tb, \u2019c\u2019\t\n\\\\x\t\n");
  EXPECT_EQ(gnuplot_text(std::string(2'000, 'x')).size(), 1'003u);
  tell(hostile_names().size(), 4);
}

TEST_F(HostileNames, AreOneWordOfAShell) {
  std::string words, expected;
  for (const std::string& name : hostile_names()) {
    words += " " + shell_word(name) + " " + shell_argument(name);
    expected += name + '\0' + (name.starts_with('-') ? "./" : "") + name + '\0';
  }
  EXPECT_EQ(run({"bash", "-c", "printf '%s\\0'" + words}).output, expected);
  EXPECT_EQ(shell_argument("a/b.toml"), "a/b.toml");
  tell(hostile_names().size(), 2);
}

// The scripts that come with Fourfold, of a campaign, in a folder and a directory of such a name,
// run under stand-ins: the command gets the words it was to get, or the script is refused in a
// sentence.
TEST_F(HostileNames, AreWordsInJobScripts) {
  files::create_directory("bin");
  const std::string got = folder_.file("got");
  write_content("bin/flux",
                "#!/bin/bash\nshift\nwhile [[ $1 == --* ]]; do shift; done\n"
                "FLUX_JOB_CC=1 exec \"$@\"\n");
  write_content("bin/stub",
                "#!/bin/bash\nprintf '%s\\0' \"$PWD\" \"$@\" >" + shell_word(got) + "\n");
  for (const char* stub : {"bin/flux", "bin/stub"}) {
    files::permissions(stub, files::perms::owner_all);
  }
  const std::vector<std::string> names = hostile_pieces();
  std::size_t written = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = as_file_name(names[i]);
    const std::string place = folder_.file(fmt::format("{}/{}", i, name));
    files::create_directories(place);
    for (const Launcher& launcher : launchers()) {
      for (const JobKind kind : {JobKind::slices, JobKind::measured}) {
        const std::string command = fmt::format(
            "{} campaign run {}", shell_word(folder_.file("bin/stub")), shell_word(name));
        std::map<std::string, std::string> words{{"name", job_name(name, launcher)},
                                                 {"time", "1:00:00"},
                                                 {"folder", place},
                                                 {"directory", place},
                                                 {"command", command},
                                                 {"quoted_command", shell_word(command)}};
        for (const char* word : {"minutes", "slices", "devices", "nodes", "ranks_per_node",
                                 "cores_per_rank", "cores_per_node"}) {
          words[word] = "2";
        }
        std::string script;
        const std::string said = refusal<std::runtime_error>(
            [&] { script = filled(content_of(template_of(launcher, kind)), words); });
        if (said != "accepted") {
          EXPECT_THAT(said, HasSubstr("takes letters, digits, blanks and"));
          EXPECT_NE(std::string(launcher.name), "pbs") << "has no folder on its lines";
          continue;
        }
        ++written;
        write_content("job.sh", script);
        files::remove(got);
        EXPECT_EQ(run({"bash", "-n", "job.sh"}).complaint, "") << script;
        const JobResult result =
            run({"env", "PATH=" + folder_.file("bin") + ":/usr/bin:/bin", "bash", "job.sh"});
        EXPECT_EQ(result.status, 0) << result.complaint << script;
        std::string wanted = place;
        for (const std::string& word : {std::string("campaign"), std::string("run"), name}) {
          wanted += '\0' + word;
        }
        EXPECT_TRUE(content_of(got).starts_with(wanted + '\0')) << script;
      }
    }
  }
  EXPECT_GT(written, 2 * names.size());
  tell(names.size(), 6 * 4);
}

}  // namespace
}  // namespace fourfold::tests
