// The protocol of the worker, hostile answers, and NumPy where the interpreter has it.
#include "isobit/lab/reveal/worker.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "isobit/lab/reveal/revelation.h"
#include "isobit/lab/reveal/worker_process.h"

namespace isobit::lab::reveal {
namespace {

std::string python() {
  const char* named = std::getenv("ISOBIT_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

bool has_numpy() { return std::system((python() + " -c 'import numpy' 2>/dev/null").c_str()) == 0; }

Bytes ready_bytes() {
  ByteWriter out;
  out.u8(0);
  out.text("Engine 1.0");
  out.text("a call");
  out.u64(3);
  out.boolean(true);
  return out.take();
}

TEST(Worker, FirstAnswerIsReadAndEveryTruncationRefused) {
  const Bytes whole = ready_bytes();
  const WorkerReady ready = decode_ready(whole, "test").value();
  EXPECT_EQ(ready.version, "Engine 1.0");
  EXPECT_EQ(ready.call, "a call");
  EXPECT_EQ(ready.at_once, 3u);
  EXPECT_TRUE(ready.has_weights);
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(decode_ready({whole.data(), size}, "test")) << size;
  Bytes longer = whole;
  longer.push_back(0);
  EXPECT_FALSE(decode_ready(longer, "test"));
}

TEST(Worker, HostileAnswersAreRefused) {
  ByteWriter many;
  many.u8(0);
  many.text("v");
  many.text("c");
  many.u64(uint64_t{1} << 40);
  many.boolean(false);
  EXPECT_EQ(decode_ready(many.view(), "test").error().code, ErrorCode::kUnreadable);
  ByteWriter refusal;
  refusal.u8(1);
  refusal.text("no such thing");
  EXPECT_EQ(decode_numbers(refusal.view(), 5, "test").error().message, "test: no such thing");
  const Bytes few = {0, 1, 2, 3}, strange = {7};
  EXPECT_EQ(decode_numbers(few, 1, "test").error().code, ErrorCode::kUnreadable);
  EXPECT_EQ(decode_numbers(strange, 0, "test").error().code, ErrorCode::kUnreadable);
}

TEST(Worker, AnInterpreterThatIsNotThereIsNamed) {
  const auto found = reveal({.platform = "numpy/1t", .python = "/nowhere/python"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(found.error().message.find("/nowhere/python"), std::string::npos);
}

// Whatever a process that is no worker does, an error comes of it.
TEST(Worker, ProcessesThatAreNoWorkers) {
  for (const char* script :
       {"", "import sys; sys.stdout.write('hello, I am no worker and I talk a lot')",
        "import os, struct; os.write(1, struct.pack('<Q', 2 ** 60)); import time; time.sleep(5)"}) {
    auto process = WorkerProcess::start(python(), script);
    ASSERT_TRUE(process) << process.error().message;
    const Bytes frame = {1, 2, 3};
    EXPECT_FALSE((*process)->ask(frame, 100, 20)) << script;
  }
  auto silent = WorkerProcess::start(python(), "import time; time.sleep(60)");
  EXPECT_EQ((*silent)->ask(Bytes{1}, 100, 1).error().code, ErrorCode::kUnavailable);
}

// One that takes nothing either: a frame that no socket holds is waited for no longer than any answer.
TEST(Worker, PatienceEnds) {
  const std::string idle = "import time; time.sleep(60)";
  const Bytes frame(16 << 20);
  const auto hasty = WorkerProcess::start(python(), idle, Patience::of(0.2)).value()->ask(frame, 100, 50);
  ASSERT_FALSE(hasty);
  EXPECT_NE(hasty.error().message.find("--max-seconds"), std::string::npos) << hasty.error().message;
  const std::atomic<bool> stop = true;
  const auto stopped = WorkerProcess::start(python(), idle, Patience::of(60, &stop)).value()->ask(frame, 100, 50);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "stopped");
}

// numpy.mean is numpy.sum divided by K.
TEST(Worker, NumPyMeansAddAsItsSums) {
  if (!has_numpy()) GTEST_SKIP() << "skipped: no NumPy in " << python();
  for (const int64_t k : {16, 17, 64, 65, 128}) {
    const auto mean =
        reveal({.sum = {.target = Target::kMean, .k = k}, .platform = "numpy/1t", .python = python(), .probes = true});
    ASSERT_TRUE(mean) << mean.error().message;
    ASSERT_TRUE(mean->revealed.tree) << mean->words();
    const auto sum = reveal({.sum = {.k = k}, .platform = "numpy/1t", .python = python()}).value();
    EXPECT_EQ(*mean->revealed.tree, *sum.revealed.tree) << k;
    ASSERT_EQ(mean->probes.size(), 1u);
    EXPECT_EQ(mean->probes[0].finding, "division");
  }
}

TEST(Worker, NumPyAddsPairwise) {
  if (!has_numpy()) GTEST_SKIP() << "skipped: no NumPy in " << python();
  const auto sum = reveal({.sum = {.k = 1000}, .platform = "numpy/1t", .python = python()});
  ASSERT_TRUE(sum) << sum.error().message;
  ASSERT_EQ(sum->revealed.verdict, Verdict::kTree) << sum->revealed.reason;
  EXPECT_TRUE(sum->confirmation.all(sum->confirmation.plain)) << sum->confirmation.words(Format::kFloat32);
  EXPECT_LT(sum->revealed.tree->depth(), 100);
  EXPECT_EQ(sum->version.find("NumPy "), 0u);
  const auto functions = reveal_functions("numpy/1t", python()).value();
  EXPECT_EQ(functions[static_cast<size_t>(Function::kSqrt)].largest, 0u);
  EXPECT_FALSE(functions[static_cast<size_t>(Function::kErf)].missing.empty());
}

TEST(Worker, UnknownTargetsOfAnEngineAreRefused) {
  const auto found = reveal({.sum = {.target = Target::kConv, .k = 9}, .platform = "numpy/1t", .python = python()});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace isobit::lab::reveal
