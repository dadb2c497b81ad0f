// What a strict reader of JSON takes, and every sentence that it refuses the rest with.
#include "support/json_object.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/field.hpp"
#include "support/field_json.hpp"
#include "support/json_text.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using Ask = std::function<void(JsonObject&)>;

// One value of each kind, and those at the ends of what 64 bits hold.
const std::vector<std::pair<std::string, json>>& values() {
  static const std::vector<std::pair<std::string, json>> all{
      {"null", nullptr},
      {"false", false},
      {"zero", 0},
      {"one", 1},
      {"minus", -1},
      {"most", most_of_a_count},
      {"beyond", std::uint64_t{1} << 63},
      {"far", std::numeric_limits<std::uint64_t>::max()},
      {"real", 1.5},
      {"whole", 2.0},
      {"empty", ""},
      {"word", "one"},
      {"list", json::array({"one"})},
      {"object", json::object()}};
  return all;
}

// "zero one", the values that a question takes; all others hear the sentence.
std::string taken(const Ask& ask, const std::string& sentence) {
  std::string text;
  for (const auto& [name, value] : values()) {
    const json whole{{"key", value}};
    JsonObject object(whole, "the thing");
    const std::string said = refusal<std::runtime_error>([&] { ask(object); });
    if (said == "accepted") {
      text += (text.empty() ? "" : " ") + name;
    } else {
      EXPECT_EQ(said, "the thing" + sentence) << name;
    }
  }
  return text;
}

TEST(JsonValues, AreTakenByTheQuestionsForTheirKindAlone) {
  EXPECT_EQ(taken([](JsonObject& o) { o.text("key"); }, ": 'key' must be text"), "empty word");
  EXPECT_EQ(taken([](JsonObject& o) { o.number("key"); }, ": 'key' must be a number"),
            "zero one minus most beyond far real whole");
  EXPECT_EQ(
      taken([](JsonObject& o) { o.integer("key"); }, ": 'key' must be a whole number, 0 or more"),
      "zero one most");
  EXPECT_EQ(
      taken([](JsonObject& o) { o.positive("key"); }, ": 'key' must be a whole number, 1 or more"),
      "one most");
  EXPECT_EQ(taken([](JsonObject& o) { o.flag("key"); }, ": 'key' must be true or false"), "false");
  EXPECT_EQ(taken([](JsonObject& o) { o.get("key"); }, ""),
            "null false zero one minus most beyond far real whole empty word list object");
}

// Numbers whose products are no numbers any more, on both sides of zero, and those of code that are
// none.
TEST(JsonValues, AreNoNumbersBeyondAllThatIsCounted) {
  const auto heard = [](double number) {
    const json whole{{"key", number}};
    JsonObject object(whole, "it");
    return refusal<std::runtime_error>([&] { EXPECT_EQ(object.number("key"), number); });
  };
  for (const double sign : {1.0, -1.0}) {
    EXPECT_EQ(heard(sign * 1e30), "accepted");
    for (const double number : {1.01e30, 1e300}) {
      EXPECT_EQ(heard(sign * number), "it: 'key' is beyond all that is counted");
    }
  }
  EXPECT_EQ(heard(std::numeric_limits<double>::infinity()), "it: 'key' must be finite");
  EXPECT_EQ(heard(std::numeric_limits<double>::quiet_NaN()), "it: 'key' must be finite");
}

TEST(JsonValues, AreGivenAsTheyStand) {
  const json whole{{"n", 7}, {"t", "text"}, {"f", true}, {"o", {{"a", 1}}}};
  JsonObject object(whole, "it");

  EXPECT_EQ(object.integer("n"), 7);
  EXPECT_EQ(object.positive("n"), 7);
  EXPECT_EQ(object.text("t"), "text");
  EXPECT_TRUE(object.flag("f"));
  EXPECT_EQ(object.object("o").integer("a"), 1);
  EXPECT_EQ(object.one_of("t", {"word", "text"}), "text");
}

std::string refused(const json& whole, const Ask& ask) {
  return refusal<std::runtime_error>([&] {
    JsonObject object(whole, "it");
    ask(object);
  });
}

TEST(JsonObjects, SayWhereTheyAreAndWhatIsWrong) {
  const json nested{{"outer", {{"inner", {{"number", "x"}}}, {"list", json::array()}}}};

  EXPECT_EQ(refused(json::array(), [](JsonObject&) {}), "it: a JSON object is expected, not array");
  EXPECT_EQ(refused("x", [](JsonObject&) {}), "it: a JSON object is expected, not string");
  EXPECT_EQ(
      refused(nested, [](JsonObject& o) { o.object("outer").object("inner").integer("number"); }),
      "it, 'outer', 'inner': 'number' must be a whole number, 0 or more");
  EXPECT_EQ(refused(nested, [](JsonObject& o) { o.object("outer").object("list"); }),
            "it, 'outer', 'list': a JSON object is expected, not array");
  EXPECT_EQ(refused(nested, [](JsonObject& o) { o.object("outer").text("gone"); }),
            "it, 'outer': key 'gone' is missing");
  EXPECT_EQ(
      refused(json{{"colour", "gren"}},
              [](JsonObject& o) {
                o.one_of("colour", {"red", "green"});
              }),
      "it: unknown value 'gren' of 'colour'; did you mean \"green\"? It is one of red, green");
  EXPECT_EQ(refused(json{{"colour", 1}}, [](JsonObject& o) { o.one_of("colour", {"red"}); }),
            "it: 'colour' must be text");
  EXPECT_EQ(refused(json::object(), [](JsonObject& o) { o.fail("because"); }), "it: because");
}

TEST(JsonObjects, KnowTheKeysThatWereAskedFor) {
  const json whole{{"first", 1}, {"second", 2}};
  const auto asked = [&](const std::vector<std::string>& gets,
                         const std::vector<std::string>& has) {
    return refused(whole, [&](JsonObject& o) {
      for (const std::string& key : gets) o.get(key);
      for (const std::string& key : has) o.has(key);
      o.finish();
    });
  };

  EXPECT_EQ(asked({"first", "second"}, {}), "accepted");
  EXPECT_EQ(asked({"first"}, {"second"}), "accepted");
  EXPECT_EQ(asked({}, {"second", "first", "third"}), "accepted");
  EXPECT_EQ(asked({"first"}, {"secund"}), "it: unknown key 'second'; did you mean \"secund\"?");
  EXPECT_EQ(asked({}, {}), "it: unknown key 'first'");
  EXPECT_EQ(refused(whole,
                    [](JsonObject& o) {
                      o.allow_only({"first", "secnd"});
                    }),
            "it: unknown key 'second'; did you mean \"secnd\"?");
  EXPECT_EQ(refused(whole, [](JsonObject& o) { o.allow_only({"second", "first"}); }), "accepted");
  JsonObject object(whole, "it");
  EXPECT_TRUE(object.has("first"));
  EXPECT_FALSE(object.has("third"));
}

TEST(JsonTexts, ThatAreNoneAreShownFromTheirBeginning) {
  const auto said = [](const std::string& text) {
    return refusal<std::runtime_error>([&] { parse_json(text, "it"); });
  };

  EXPECT_EQ(parse_json(" {\"a\": [1]} ", "it"), (json{{"a", {1}}}));
  EXPECT_EQ(said("{\"a\": 1"), "it is no JSON: '{\"a\": 1'");
  EXPECT_EQ(said(""), "it is no JSON: ''");
  EXPECT_EQ(said("first\nsecond"), "it is no JSON: 'first...'");
  EXPECT_EQ(said(std::string(60, 'a')), "it is no JSON: '" + std::string(60, 'a') + "'");
  EXPECT_EQ(said(std::string(61, 'a')), "it is no JSON: '" + std::string(60, 'a') + "...'");
  EXPECT_EQ(said(std::string(70, 'a') + "\nb"), "it is no JSON: '" + std::string(60, 'a') + "...'");
  EXPECT_EQ(said("{} {}"), "it is no JSON: '{} {}'");
}

// Fields of every kind, alone and in tables whose names begin alike.
const std::vector<FieldFacts>& facts() {
  static const std::vector<FieldFacts> all{
      {.key = "count", .kind = WholeNumber{1, 9, "as there are no more"}},
      {.key = "spare", .kind = WholeNumber{0, 9, ""}, .optional = true},
      {.key = "part", .kind = RealNumber{0.5, 2.0}, .optional = true},
      {.key = "lid.colour", .kind = OneWord{{"red", "green"}}},
      {.key = "lid.hinge.oiled", .kind = OnOff{}, .optional = true},
      {.key = "lid.hinge.pins", .kind = WholeNumber{1, 4, ""}},
      {.key = "lidless", .kind = OnOff{}},
      {.key = "name", .kind = FreeText{}, .optional = true},
      {.key = "tags", .kind = FreeTexts{}, .optional = true}};
  return all;
}

json whole() {
  return {
      {"count", 3},        {"spare", 0},
      {"part", 1.5},       {"lid", {{"colour", "red"}, {"hinge", {{"oiled", true}, {"pins", 2}}}}},
      {"lidless", false},  {"name", "pot"},
      {"tags", {"a", "b"}}};
}

std::string read(const json& object) {
  return refusal<std::runtime_error>([&] { read_fields(JsonObject(object, "the pot"), facts()); });
}

TEST(FieldsInJson, OfEveryKindAreReadAndWrittenBack) {
  const FieldValues values = read_fields(JsonObject(whole(), "the pot"), facts());

  EXPECT_EQ(values.size(), facts().size());
  EXPECT_EQ(std::get<std::int64_t>(values.at("count")), 3);
  EXPECT_EQ(std::get<std::int64_t>(values.at("lid.hinge.pins")), 2);
  EXPECT_EQ(std::get<std::vector<std::string>>(values.at("tags")),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(json_of_values(values), whole());
  EXPECT_EQ(ordered_json_of(facts(), values).dump(),
            R"({"count":3,"spare":0,"part":1.5,"lid":{"colour":"red","hinge":{"oiled":true,)"
            R"("pins":2}},"lidless":false,"name":"pot","tags":["a","b"]})");
  EXPECT_EQ(ordered_json_of(facts(), {{"name", std::string("pot")}, {"part", 1.0}}).dump(),
            R"({"part":1.0,"name":"pot"})");
}

TEST(FieldsInJson, MayBeLeftOutWhereTheyAreOptional) {
  const std::vector<std::pair<std::string, std::string>> paths{
      {"/count", "the pot: key 'count' is missing"},
      {"/spare", ""},
      {"/part", ""},
      {"/lid", "the pot: key 'lid' is missing"},
      {"/lid/colour", "the pot, 'lid': key 'colour' is missing"},
      {"/lid/hinge", "the pot, 'lid': key 'hinge' is missing"},
      {"/lid/hinge/oiled", ""},
      {"/lid/hinge/pins", "the pot, 'lid', 'hinge': key 'pins' is missing"},
      {"/lidless", "the pot: key 'lidless' is missing"},
      {"/name", ""},
      {"/tags", ""}};
  for (const auto& [path, sentence] : paths) {
    json less = whole();
    const json::json_pointer pointer(path);
    less.at(pointer.parent_pointer()).erase(pointer.back());

    EXPECT_EQ(read(less), sentence.empty() ? "accepted" : sentence) << path;
    EXPECT_EQ(json_of_values(read_given_fields(JsonObject(less, "the pot"), facts())), less)
        << path;
  }
  EXPECT_TRUE(read_given_fields(JsonObject(json::object(), "the pot"), facts()).empty());
}

TEST(FieldsInJson, AreRefusedWhereTheyAreOutOfRangeOrOfAnotherKind) {
  const auto with = [](const std::string& path, const json& value) {
    json other = whole();
    other[json::json_pointer(path)] = value;
    return read(other);
  };
  const std::string list = "'tags' must be a list of words";

  EXPECT_EQ(with("/count", 0), "the pot: 'count' must be a whole number, 1 or more");
  EXPECT_EQ(with("/count", 10),
            "the pot: count = 10, but it must be at most 9, as there are no more");
  EXPECT_EQ(with("/count", 9), "accepted");
  EXPECT_EQ(with("/spare", -1), "the pot: 'spare' must be a whole number, 0 or more");
  EXPECT_EQ(with("/spare", 10), "the pot: spare = 10, but it must be at most 9");
  EXPECT_EQ(with("/part", 0.25), "the pot: part = 0.25, but it must be at least 0.5");
  EXPECT_EQ(with("/part", 2.5), "the pot: part = 2.5, but it must be at most 2");
  EXPECT_EQ(with("/part", 2), "accepted");
  EXPECT_EQ(with("/lid/hinge/pins", 5),
            "the pot, 'lid', 'hinge': pins = 5, but it must be at most 4");
  EXPECT_EQ(with("/lid/colour", "blue"),
            "the pot, 'lid': unknown value 'blue' of 'colour'; it is one of red, green");
  EXPECT_EQ(with("/lid", 1), "the pot, 'lid': a JSON object is expected, not number");
  EXPECT_EQ(with("/lidless", "on"), "the pot: 'lidless' must be true or false");
  EXPECT_EQ(with("/name", 7), "the pot: 'name' must be text");
  EXPECT_EQ(with("/tags", "a"), list);
  EXPECT_EQ(with("/tags", {"a", 1}), list);
  EXPECT_EQ(with("/tags", json::array()), "accepted");
  EXPECT_EQ(with("/lid/hinge/pin", 1),
            "the pot, 'lid', 'hinge': unknown key 'pin'; did you mean \"pins\"?");
  EXPECT_EQ(with("/colour", "red"), "the pot: unknown key 'colour'");
}

}  // namespace
}  // namespace fourfold::tests
