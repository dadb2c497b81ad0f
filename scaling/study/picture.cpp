// Starts gnuplot on plots/*.gp; see picture.hpp.
#include "scaling/study/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "scaling/jobs/launch.hpp"
#include "support/visible_text.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

namespace files = std::filesystem;

// Pictures, and with what a whole one ends: gnuplot says nothing of a disk that was full.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> endings{
    {{".png", "IEND\xAE\x42\x60\x82"}, {".svg", "</svg>"}, {".pdf", "%%EOF"}}};

constexpr std::size_t most_texts = 6;        // gnuplot keeps nine arguments
constexpr std::size_t longest_text = 1'000;  // bytes

// A new folder for drafts that nobody else writes to, gone at the end.
class DraftFolder {
 public:
  explicit DraftFolder(const files::path& parent)
      : path_(files::absolute(parent) / "figures.fourfold-draft.XXXXXX") {
    if (mkdtemp(path_.data()) != nullptr) return;
    throw std::runtime_error(
        fmt::format("cannot write in {}: {}", parent.string(), std::strerror(errno)));
  }
  ~DraftFolder() {
    std::error_code ignored;
    files::remove_all(path_, ignored);
  }
  DraftFolder(const DraftFolder&) = delete;
  DraftFolder& operator=(const DraftFolder&) = delete;

  std::string file(std::size_t number, std::string_view ending) const {
    return fmt::format("{}/{}{}", path_, number, ending);
  }

 private:
  std::string path_;
};

files::path folder_of(const Picture& picture) {
  const files::path parent = files::path(picture.output).parent_path();
  return parent.empty() ? "." : parent;
}

// All paths are absolute: gnuplot takes one that begins with < or | for a command.
Job job_of(const Picture& picture, const std::string& table, const std::string& draft) {
  if (picture.texts.size() > most_texts) throw std::logic_error("too many texts of a picture");
  write_whole_file(table, gnuplot_table(picture.csv));
  const std::string plots = FOURFOLD_SOURCE_DIR "/plots";
  Job job{{"gnuplot", "--default-settings"}, ""};
  if (picture.width_in > 0.0) {
    job.command.insert(job.command.end(),
                       {"-e", fmt::format("paper_width={:.6f}", picture.width_in)});
  }
  job.command.insert(job.command.end(),
                     {"-c", fmt::format("{}/{}.gp", plots, picture.script), plots, table, draft});
  for (const std::string& text : picture.texts) job.command.push_back(gnuplot_text(text));
  return job;
}

bool is_whole(const std::string& draft) {
  return std::ranges::all_of(endings, [&](const auto& ending) {
    const std::string path = draft + std::string(ending.first);
    std::error_code missing;
    if (!files::is_regular_file(path, missing)) return false;
    std::string picture = read_whole_file(path);
    picture.resize(picture.find_last_not_of('\n') + 1);  // gnuplot ends an SVG with one or two
    return picture.ends_with(ending.second);
  });
}

// Drafts take their names. Returns why one cannot, or nothing.
std::string take_names(const Picture& picture, const std::string& draft) {
  for (const auto& [ending, end] : endings) {
    const std::string path = picture.output + std::string(ending);
    std::error_code error;
    files::rename(draft + std::string(ending), path, error);
    if (error) return fmt::format("cannot write {}: {}", path, error.message());
  }
  return "";
}

std::vector<JobResult> run_gnuplot(const std::vector<Job>& jobs) {
  unsetenv("GNUTERM");  // a terminal of the user's, which it would open before ours
  try {
    return run_side_by_side(jobs);
  } catch (const std::runtime_error& error) {
    if (!std::string_view(error.what()).starts_with("cannot start")) throw;
    throw NoGnuplot(fmt::format("no plots: {}; install gnuplot-nox and run the same command again",
                                error.what()));
  }
}

// gnuplot writes &#0; into an SVG as it is, which is then none.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char letter) { return letter == '\n' || letter == '\t'; }, ' ');
  for (std::size_t at = 0; (at = text.find("&#", at)) != std::string::npos;) text.insert(++at, " ");
  return visible(text);
}

// gnuplot cuts what is longer, within a letter.
std::string cut(std::string line) {
  if (line.size() <= longest_text) return line;
  std::size_t end = longest_text;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0u) == 0x80u) --end;
  return line.substr(0, end) + "...";
}

void add_to_cell(std::string& table, const std::string& cell) {
  for (const char letter : cut(one_line(cell))) {
    if (letter == '"') {
      table += "\u2019";  // lists of words have quotes between them (plots/style.gp)
    } else if (letter == '\\') {
      table += "\\\\";  // gnuplot reads escapes in cells
    } else {
      table += letter;
    }
  }
}

}  // namespace

std::vector<std::string> draw(const std::vector<Picture>& pictures) {
  if (pictures.empty()) return {};
  const DraftFolder drafts(folder_of(pictures.front()));
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    jobs.push_back(job_of(pictures[i], drafts.file(i, ".tsv"), drafts.file(i, "")));
  }
  const std::vector<JobResult> results = run_gnuplot(jobs);
  std::vector<std::string> failures;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const std::string& output = pictures[i].output;
    const std::string draft = drafts.file(i, "");
    failures.push_back(
        results[i].status != 0 ? fmt::format("cannot draw {}: gnuplot ended with status {}: {}",
                                             output, results[i].status, results[i].complaint)
        : !is_whole(draft)
            ? fmt::format("cannot draw {}: the picture breaks off; is the disk full?", output)
            : take_names(pictures[i], draft));
  }
  return failures;
}

std::string in_characters(const Picture& picture) {
  const DraftFolder drafts(folder_of(picture));
  const JobResult result = run_gnuplot({job_of(picture, drafts.file(0, ".tsv"), "")}).front();
  if (result.status == 0) {
    std::string text = result.output;
    std::erase(text, '\f');  // gnuplot begins a page with it
    return text;
  }
  throw std::runtime_error(fmt::format("no plot '{}': gnuplot ended with status {}: {}",
                                       picture.script, result.status, result.complaint));
}

// Line ends stand between rows, also within quotes: no cell of ours has one.
std::string gnuplot_table(const std::string& csv) {
  std::string table, cell;
  bool quoted = false;
  const auto end_cell = [&](char separator) {
    add_to_cell(table, std::exchange(cell, ""));
    table += separator;
  };
  for (std::size_t i = 0; i < csv.size(); ++i) {
    const char letter = csv[i];
    if (letter == '\n') {
      quoted = false;
      end_cell('\n');
    } else if (letter == ',' && !quoted) {
      end_cell('\t');
    } else if (letter == '"') {
      const bool doubled = quoted && i + 1 < csv.size() && csv[i + 1] == '"';
      if (doubled) cell += csv[++i];
      if (!doubled) quoted = !quoted;
    } else {
      cell += letter;
    }
  }
  if (!cell.empty()) end_cell('\n');
  return table;
}

std::string gnuplot_text(const std::string& text) {
  return cut(one_line(text));
}

}  // namespace fourfold::inline scaling::inline study
