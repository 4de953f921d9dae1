// SPDX-License-Identifier: Apache-2.0
//
// Options that a file records are those that compiled it.

#include "compiler/Driver/RecordedOptions.h"

#include "gtest/gtest.h"

namespace {

using llmc::driver::applyRecordedOptions;
using llmc::driver::CompileOptions;
using llmc::driver::recordOptions;

TEST(RecordedOptions, DefaultsAreNotRecorded) {
  EXPECT_TRUE(recordOptions(CompileOptions()).empty());
}

TEST(RecordedOptions, WhatIsRecordedIsRestored) {
  CompileOptions options;
  options.maxContext = 77;
  options.weights = "int4-g64";
  options.weightRules = {"a=b=int8", "c=keep"};
  options.kvType = "f16";
  options.activations = "int8";
  options.tuningPath = "some.textproto";
  options.limits = {"max_unroll=4"};
  CompileOptions restored;
  ASSERT_TRUE(applyRecordedOptions(recordOptions(options), restored).ok());
  EXPECT_EQ(recordOptions(restored), recordOptions(options));
  EXPECT_EQ(restored.weightRules, options.weightRules);
  EXPECT_EQ(restored.maxContext, 77);
}

TEST(RecordedOptions, UnknownWordsAreRefused) {
  CompileOptions options;
  for (const char *word : {"speed=high", "max-context=many", ""})
    EXPECT_EQ(applyRecordedOptions({word}, options).code(),
              llmc::StatusCode::InvalidFile)
        << word;
}

} // namespace
