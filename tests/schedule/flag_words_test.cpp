// Fields of every kind as flags: the words that each takes, the sentence that others hear, and what
// a command line says of words that nobody knows; and tables of the fields of a struct.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/field.hpp"
#include "support/field_flags.hpp"
#include "support/flag_checks.hpp"
#include "support/refused_words.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;

const std::vector<FieldFacts>& facts() {
  static const std::vector<FieldFacts> all{
      {.key = "count", .flag = "--count", .help = "how many", .kind = WholeNumber{0, 9, "so"}},
      {.key = "hidden", .kind = WholeNumber{1, 9, "so"}},
      {.key = "part", .flag = "--part", .help = "how much", .kind = RealNumber{0.5, 2.0}},
      {.key = "colour",
       .flag = "--colour",
       .help = "seen",
       .kind = OneWord{{"red", "green", "off"}}},
      {.key = "can.dim", .flag = "--can", .help = "a dimmer", .kind = OnOff{"dim"}},
      {.key = "can.hum", .flag = "--can", .help = "a coil", .kind = OnOff{"hum"}},
      {.key = "can.blink", .flag = "--can", .help = "a relay", .kind = OnOff{"blink"}},
      {.key = "lit", .flag = "--lit", .help = "lights", .kind = OnOff{}},
      {.key = "name", .flag = "--name", .help = "called", .kind = FreeText{}},
      {.key = "tags", .flag = "--tag", .help = "marks", .kind = FreeTexts{}}};
  return all;
}

FieldValues taken(const std::string& flag, const std::vector<std::string>& words) {
  return flag_values(facts(), flag, words);
}

std::string refused(const std::string& flag, const std::string& word) {
  return refusal<std::runtime_error>([&] { taken(flag, {word}); });
}

TEST(FlagWords, OfEveryKindAreTakenAndSaidAgain) {
  EXPECT_THAT(flags_of(facts()),
              ElementsAre("--count", "--part", "--colour", "--can", "--lit", "--name", "--tag"));
  for (const auto& [flag, words] : std::map<std::string, std::vector<std::string>>{
           {"--count", {"0", "9"}},
           {"--part", {"0.5", "2", "1.25"}},
           {"--colour", {"red", "off"}},
           {"--can", {"all", "none", "dim", "hum,blink", "dim,blink"}},
           {"--lit", {"on", "off"}},
           {"--name", {"a b"}}}) {
    for (const std::string& word : words) {
      EXPECT_EQ(flag_word(facts(), flag, taken(flag, {word})), word) << flag;
    }
  }
  EXPECT_EQ(flag_word(facts(), "--can", taken("--can", {"blink,dim"})), "dim,blink");
  EXPECT_EQ(flag_word(facts(), "--can", taken("--can", {"dim,hum,blink"})), "all");
  EXPECT_EQ(flag_word(facts(), "--tag", taken("--tag", {"one", "two"})), "one two");
  EXPECT_EQ(taken("--can", {"hum"}),
            (FieldValues{{"can.dim", false}, {"can.hum", true}, {"can.blink", false}}));
}

// Of a flag that is given twice the last word counts, where it takes one.
TEST(FlagWords, OfSeveralTheLastIsTaken) {
  EXPECT_EQ(taken("--count", {"1", "2"}).at("count"), FieldValue(std::int64_t{2}));
  EXPECT_EQ(taken("--part", {"1", "2"}).at("part"), FieldValue(2.0));
  EXPECT_EQ(taken("--colour", {"red", "green"}).at("colour"), FieldValue(std::string("green")));
  EXPECT_EQ(taken("--lit", {"on", "off"}).at("lit"), FieldValue(false));
  EXPECT_EQ(taken("--name", {"a", "b"}).at("name"), FieldValue(std::string("b")));
  EXPECT_EQ(taken("--can", {"dim", "hum"}).at("can.dim"), FieldValue(false));
  EXPECT_EQ(taken("--tag", {"a", "b"}).at("tags"), FieldValue(std::vector<std::string>{"a", "b"}));
}

TEST(FlagWords, OfNothingAreEmpty) {
  for (const std::string& flag : flags_of(facts())) {
    EXPECT_EQ(flag_word(facts(), flag, {}), "") << flag;
    EXPECT_EQ(flag_word(facts(), flag, {{"hidden", std::int64_t{3}}}), "") << flag;
  }
  EXPECT_EQ(flag_word(facts(), "--can", {{"can.hum", true}}), "hum");
  EXPECT_EQ(flag_word(facts(), "--can", {{"can.hum", false}}), "none");
}

TEST(FlagWords, ThatAreNoneHearWhatWouldBe) {
  for (const char* word : {"10", "-1", "1.0", "", "1x", "0x1", " 1", "99999999999999999999"}) {
    EXPECT_EQ(refused("--count", word),
              std::string("--count: '") + word + "' is no whole number from 0 to 9");
  }
  for (const char* word : {"0.49", "2.01", "", "1x", "nan", "inf", "-1", "1e999"}) {
    EXPECT_EQ(refused("--part", word),
              std::string("--part: '") + word + "' is no number from 0.5 to 2");
  }
  EXPECT_EQ(refused("--colour", "gren"),
            "unknown --colour 'gren'; did you mean \"green\"? It is one of red, green, off");
  EXPECT_EQ(refused("--lit", "yes"), "unknown --lit 'yes'; it is one of on, off");
  for (const char* alone : {"all", "none"}) {
    EXPECT_EQ(refused("--can", std::string("dim,") + alone),
              std::string("--can 'dim,") + alone + "': " + alone +
                  " stands alone; write all, none, or some of dim,hum,blink");
  }
  EXPECT_EQ(refused("--can", "dim,humm"),
            "unknown --can 'humm'; did you mean \"hum\"? It is one of all, none, dim, hum, blink");
  EXPECT_EQ(refusal([] { taken("--gone", {"1"}); }), "no field has the flag --gone");
}

TEST(FlagHelp, SaysWhatEachKindTakes) {
  EXPECT_EQ(flag_help(facts(), "--count"), "how many");
  EXPECT_EQ(flag_help(facts(), "--part"), "how much");
  EXPECT_EQ(flag_help(facts(), "--colour"), "seen: red, green or off");
  EXPECT_EQ(flag_help(facts(), "--can"),
            "all, none, or some of dim,hum,blink: dim, a dimmer; hum, a coil; blink, a relay");
  EXPECT_EQ(flag_help(facts(), "--lit"), "lights: on or off");
  EXPECT_EQ(flag_help(facts(), "--name"), "called");
}

std::string heard(const CLI::Validator& check, std::string word) {
  return check(word);
}

TEST(FlagChecks, SayWhatWouldBeTaken) {
  EXPECT_EQ(heard(whole_number(1, 9), "10"), "'10' is no whole number from 1 to 9");
  EXPECT_EQ(heard(number(0.5, 2.0), "3"), "must be at least 0.5 and at most 2, not 3");
  EXPECT_EQ(heard(number(0.5, 2.0), "0.25"), "must be at least 0.5 and at most 2, not 0.25");
  EXPECT_EQ(heard(number(0.5, std::numeric_limits<double>::max()), "0.25"),
            "must be at least 0.5, not 0.25");
  for (const char* word : {"x", "inf", "nan", "", "1 "}) {
    EXPECT_EQ(heard(number(0.5, 2.0), word), std::string("'") + word + "' is no number");
  }
  EXPECT_EQ(heard(some_word(), ""), "has an empty value; leave the flag out or give it one");
  EXPECT_EQ(heard(some_word(), " "), "");
  EXPECT_EQ(stray_bytes({"a", "b\xFF", "\xFF"}),
            "the word \"b\xEF\xBF\xBD\" of the command line is no text in UTF-8");
}

// A command line with two verbs, one of which has verbs of its own.
std::string sentence_for(const std::vector<std::string>& words) {
  CLI::App app{"the program", "program"};
  FieldValues typed;
  std::string file;
  CLI::App* first = app.add_subcommand("first", "");
  add_field_flags(*first, "Fields", facts(), {{"count", std::int64_t{4}}}, typed);
  first->add_option("file", file);
  CLI::App* second = app.add_subcommand("second", "");
  second->add_subcommand("inner", "")->add_option("--depth", file);
  second->add_subcommand("outer", "");
  app.require_subcommand(0, 1);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return sentence_of(app, error);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  std::string text;
  for (const auto& [key, value] : typed) text += (text.empty() ? "" : " ") + key;
  return "typed " + text;
}

TEST(RefusedWords, AreNamedWithTheNearestThatIsKnown) {
  EXPECT_EQ(sentence_for({"first", "--count", "3", "--lit", "on", "--can", "dim"}),
            "typed can.blink can.dim can.hum count lit");
  EXPECT_EQ(sentence_for({"first", "--tag", "a", "b", "--name", "n"}), "typed name tags");
  EXPECT_EQ(sentence_for({"frist"}), "unknown verb 'frist'; did you mean \"first\"?");
  EXPECT_EQ(sentence_for({"elsewhere"}), "unknown verb 'elsewhere'");
  EXPECT_EQ(sentence_for({"second", "iner"}), "unknown verb 'iner'; did you mean \"inner\"?");
  EXPECT_EQ(sentence_for({"first", "--cuont", "3"}),
            "unknown flag '--cuont'; did you mean \"--count\"?");
  EXPECT_EQ(sentence_for({"first", "--cuont=3"}),
            "unknown flag '--cuont'; did you mean \"--count\"?");
  EXPECT_EQ(sentence_for({"second", "inner", "--dept", "3"}),
            "unknown flag '--dept'; did you mean \"--depth\"?");
  EXPECT_EQ(sentence_for({"second", "inner", "--count", "3"}), "unknown flag '--count'");
  EXPECT_EQ(sentence_for({"first", "file", "more"}), "'more' is one argument too many");
  EXPECT_EQ(sentence_for({"second", "inner", "more"}), "'more' is one argument too many");
  EXPECT_EQ(sentence_for({"first", "--count", "1", "--count", "2"}),
            "--count is given twice; give it once");
  EXPECT_EQ(sentence_for({"first", "--count", "10"}),
            "--count: '10' is no whole number from 0 to 9");
  EXPECT_EQ(sentence_for({"first", "--name", ""}),
            "--name: has an empty value; leave the flag out or give it one");
  EXPECT_EQ(sentence_for({"first", "--part", "3"}), "--part: '3' is no number from 0.5 to 2");
}

enum class Colour { red, green };
const char* name(Colour colour) {
  return colour == Colour::red ? "red" : "green";
}

struct Lamp {
  std::int64_t bulbs = 2;
  double heat = 1.0;
  Colour colour = Colour::red;
  bool dims = true, blinks = false, hums = false;

  bool operator==(const Lamp&) const = default;
};

const FieldTable<Lamp>& lamp_fields() {
  static const FieldTable<Lamp> table(
      {number_field<Lamp>({.key = "bulbs", .flag = "--bulbs", .help = "in the lamp"},
                          {.most = 9, .reason = "as no lamp has more"}, &Lamp::bulbs),
       real_field<Lamp>({.key = "heat", .flag = "--heat", .help = "of the lamp"}, {0.5, 2.0},
                        &Lamp::heat),
       word_field<Lamp>({.key = "colour", .flag = "--colour", .help = "of its light"},
                        std::vector{Colour::red, Colour::green}, &Lamp::colour),
       on_off_field<Lamp>({.key = "can.dim", .flag = "--can", .help = "a dimmer"}, {"dim"},
                          &Lamp::dims),
       on_off_field<Lamp>({.key = "can.blink", .flag = "--can", .help = "a relay"}, {"blink"},
                          &Lamp::blinks),
       on_off_field<Lamp>({.key = "hums", .flag = "--hum", .help = "a transformer's sound"}, {},
                          &Lamp::hums)});
  return table;
}

TEST(Fields, SayEveryValueAndReadItBackAndLeaveWhatIsNotSaid) {
  const Lamp lamp{7, 1.5, Colour::green, false, true, true};
  Lamp again;

  lamp_fields().set(again, lamp_fields().values(lamp));
  EXPECT_EQ(again, lamp);

  lamp_fields().set(again, {{"bulbs", std::int64_t{3}}});
  EXPECT_EQ(again, (Lamp{3, 1.5, Colour::green, false, true, true}));
}

TEST(Fields, AreFlagsThatSayWhatTheyRead) {
  for (const auto& [flag, word] : {std::pair{"--bulbs", "1"},
                                   {"--bulbs", "9"},
                                   {"--heat", "1.5"},
                                   {"--colour", "green"},
                                   {"--can", "none"},
                                   {"--can", "blink"},
                                   {"--can", "all"},
                                   {"--hum", "on"},
                                   {"--hum", "off"}}) {
    EXPECT_EQ(lamp_fields().word(lamp_fields().with({}, flag, word), flag), word);
  }
  const auto refused = [](const std::string& flag, const std::string& word) {
    return refusal<std::runtime_error>([&] { lamp_fields().with({}, flag, word); });
  };
  EXPECT_EQ(refused("--bulbs", "10"), "--bulbs: '10' is no whole number from 1 to 9");
  EXPECT_EQ(refused("--heat", "2.1"), "--heat: '2.1' is no number from 0.5 to 2");
  EXPECT_EQ(refused("--colour", "gren"),
            "unknown --colour 'gren'; did you mean \"green\"? It is one of red, green");
  EXPECT_EQ(refused("--can", "blnk"),
            "unknown --can 'blnk'; did you mean \"blink\"? It is one of all, none, dim, blink");
  EXPECT_EQ(out_of_range(lamp_fields().facts(), {{"bulbs", std::int64_t{10}}}),
            "bulbs = 10, but it must be at most 9, as no lamp has more");
  EXPECT_NE(out_of_range(lamp_fields().facts(), {{"heat", std::nan("")}}), "");
}

}  // namespace
}  // namespace fourfold::tests
