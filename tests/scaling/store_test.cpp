// The file of records: what survives kills, corruption, a full disk and a second run.
#include "scaling/records/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <map>
#include <stdexcept>

#include "scaling/records/record_json.hpp"
#include "scaling/study/failure_log.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Record record_with_key(const std::string& key) {
  Record record = made_up_record();
  record.key = key;
  return record;
}

// Of two with a key, as where two folders' records are joined by hand, the newer counts.
TEST(Store, KeepsRecordsFromRunToRunUnlessItIsToBeginAnew) {
  const TemporaryFolder folder;
  const std::string path = folder.file("deep/records.jsonl");
  Record newer = record_with_key("second");
  newer.tried += 1;
  {
    Store store(path, Opening::resume);
    for (const Record& record : {record_with_key("first"), record_with_key("second"), newer}) {
      store.append(record);
    }
    EXPECT_EQ(store.with_key("second")->tried, newer.tried);
  }
  {
    const Store again(path, Opening::resume);
    EXPECT_EQ(again.remark(), "");
    ASSERT_NE(again.with_key("second"), nullptr);
    EXPECT_EQ(to_json(*again.with_key("first")), to_json(record_with_key("first")));
    EXPECT_EQ(to_json(*again.with_key("second")), to_json(newer));
    EXPECT_EQ(again.with_key("third"), nullptr);
  }
  EXPECT_TRUE(Store(path, Opening::fresh).records().empty());
  EXPECT_EQ(content_of(path), "");
}

TEST(Store, SetsATornLastLineAside) {
  const TemporaryFolder folder;
  const std::string path = folder.file("records.jsonl");
  const std::string whole = line_of(record_with_key("whole")) + '\n';
  const std::string torn = line_of(record_with_key("torn")).substr(0, 300);
  write_content(path, whole + torn);

  {
    Store store(path, Opening::resume);
    EXPECT_EQ(store.records().size(), 1u);
    EXPECT_THAT(store.remark(), HasSubstr("cut off"));
    EXPECT_EQ(content_of(path + ".torn"), torn + '\n');
    EXPECT_EQ(content_of(path), whole);
    store.append(record_with_key("torn"));
  }

  EXPECT_EQ(Store(path, Opening::resume).records().size(), 2u);
}

TEST(Store, PassesOverRecordsOfAnotherVersion) {
  const TemporaryFolder folder;
  const std::string path = folder.file("records.jsonl");
  const std::string old = "{\"format\":\"fourfold-record-1\"}\n";
  write_content(path, old + line_of(record_with_key("own")) + '\n');

  const Store again(path, Opening::resume);

  ASSERT_EQ(again.records().size(), 1u);
  EXPECT_EQ(again.records()[0].key, "own");
  EXPECT_THAT(again.remark(), HasSubstr("another version"));
  EXPECT_THAT(content_of(path), HasSubstr(old));
}

TEST(Store, RefusesACorruptLineWithFileAndNumber) {
  const TemporaryFolder folder;
  const std::string path = folder.file("records.jsonl");
  const std::string line = line_of(made_up_record()) + '\n';
  write_content(path, line + "{\"format\":\"fourfold-rec\n" + line);

  EXPECT_THAT(refusal<std::runtime_error>([&] { Store(path, Opening::resume); }),
              HasSubstr(path + ", line 2"));
  EXPECT_EQ(content_of(path), line + "{\"format\":\"fourfold-rec\n" + line);
}

// What a hand changed, whether or not it took the digest away.
TEST(Store, RefusesARecordThatIsNotAsItWasWritten) {
  const std::string line = line_of(record_with_key("own"));
  std::string changed = line;
  changed.replace(changed.find("own"), 3, "new");

  EXPECT_EQ(record_of_line(line).key, "own");
  EXPECT_THAT([&] { record_of_line(changed); },
              ThrowsMessage<std::runtime_error>(HasSubstr("was changed after it was written")));
  EXPECT_THAT([&] { record_of_line(to_json(record_with_key("new"))); },
              ThrowsMessage<std::runtime_error>(HasSubstr("lacks the digest")));
  // The digest once more at the end, behind words of others.
  const std::string longer =
      line.substr(0, line.size() - 1) + ",\"more\":" + line.substr(line.size() - 19);
  EXPECT_THROW(record_of_line(longer), std::runtime_error);
}

TEST(Store, RefusesASecondWriter) {
  const TemporaryFolder folder;
  const std::string path = folder.file("records.jsonl");
  const Store first(path, Opening::resume);

  EXPECT_THAT(refusal<std::runtime_error>([&] { Store(path, Opening::resume); }),
              HasSubstr("records.jsonl is in use by process "));
}

// A limit on the size of files stands in for a full disk.
TEST(Store, FullDiskIsASentenceAndLosesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.file("records.jsonl");
  Store store(path, Opening::resume);
  store.append(record_with_key("kept"));
  const std::string before = content_of(path);
  rlimit unlimited{};
  getrlimit(RLIMIT_FSIZE, &unlimited);
  const auto former = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{before.size() + 100, unlimited.rlim_max};

  setrlimit(RLIMIT_FSIZE, &full);
  const std::string sentence =
      refusal<std::runtime_error>([&] { store.append(record_with_key("lost")); });
  setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, former);

  EXPECT_THAT(sentence, HasSubstr("cannot write to " + path));
  EXPECT_THAT(sentence, HasSubstr("1 records in it are kept"));
  EXPECT_EQ(content_of(path), before);
}

// The newest line of a key is what counts, whether it says no or that it failed.
TEST(FailureLog, SaysTheNewestOfEachKey) {
  for (const Failing first : {Failing::failed, Failing::no}) {
    for (const Failing second : {Failing::failed, Failing::no}) {
      const TemporaryFolder folder;
      const std::string path = folder.file("failures.jsonl");
      log_failure(path, "one", "first", first);
      log_failure(path, "other", "of the other", Failing::no);
      log_failure(path, "one", "second", second);

      std::map<std::string, std::string> no{{"other", "of the other"}};
      if (second == Failing::no) no["one"] = "second";
      EXPECT_EQ(logged_failures(path, Failing::no), no);
      EXPECT_EQ(logged_failures(path).at("one"), "second");
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
