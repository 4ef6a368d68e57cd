// A folder with a lab, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include "isobit/lab/records/lab_for_test.h"

namespace isobit::lab::records {

class LabFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("isobit_lab_test_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "a.lab";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Runs SQL on the file behind the library's back.
  void tamper(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_close(db);
  }
  void make_example() { ASSERT_TRUE(example_lab(path_)); }
  // What opening and reading everything says; "" where all is well.
  std::string complaint() {
    auto lab = LabFile::open(path_, LabFile::Mode::kRead);
    if (!lab) return lab.error().message;
    const Status read = read_all(*lab);
    return read ? "" : read.error().message;
  }

  fs::path folder_, path_;
};

}  // namespace isobit::lab::records
