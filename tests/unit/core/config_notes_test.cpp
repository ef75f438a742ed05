// SPDX-License-Identifier: Apache-2.0
// Comments of a library file are found for the values they stand beside.
#include "sim/core/config_notes.hpp"

#include <gtest/gtest.h>

#include "tests/unit/core/config_support.hpp"

namespace warploom {
namespace {

class ConfigNotes : public FolderTest {
 protected:
  ValueNote note(const std::string& path) const {
    for (const ValueNote& note : value_notes(load("device.yaml"))) {
      if (note.path == path) return note;
    }
    ADD_FAILURE() << "no value at " << path;
    return {};
  }
};

TEST_F(ConfigNotes, AValueHasTheCommentOfItsLine) {
  write("device.yaml", "memory:\n  bandwidth: 3.35 TB/s   # [data sheet] p. 18\n  reached: 0.88   # [fit] two sets\n");
  EXPECT_EQ(note("memory.bandwidth").comment, "[data sheet] p. 18");
  EXPECT_EQ(note("memory.bandwidth").kind, SourceKind::data_sheet);
  EXPECT_EQ(note("memory.reached").kind, SourceKind::measured);
  EXPECT_EQ(note("memory.reached").origin.line(), 3);
}

TEST_F(ConfigNotes, AFitWithItsDateAndTableIsMeasured) {
  write("device.yaml", "reached: 0.88   # [fit 2026-11-30 gemm.csv] as calibrate writes it\n");
  EXPECT_EQ(note("reached").kind, SourceKind::measured);
}

TEST_F(ConfigNotes, AMapOnOneLineSharesItsComment) {
  write("device.yaml", "tensor: {bf16: 4096, fp8: 8192}   # [announced] keynote\n");
  EXPECT_EQ(note("tensor.fp8").kind, SourceKind::announced);
}

TEST_F(ConfigNotes, ACommentOfAKeyHoldsForWhatStandsBelowItWithoutOne) {
  write("device.yaml", "launch:   # [derived] from H100\n  graph: 1 us\n  stream: 2 us   # [guessed]\n");
  EXPECT_EQ(note("launch.graph").kind, SourceKind::derived);
  EXPECT_EQ(note("launch.stream").kind, SourceKind::guessed);
}

TEST_F(ConfigNotes, TagsAreExplainedFromTheTopOfTheFile) {
  write("device.yaml", "# A device.\n# [FA3] arXiv:2407.08608, measured.   [X] other\nrate: 3   # [FA3] figure 5\n");
  EXPECT_EQ(note("rate").comment, "[FA3] figure 5 ([FA3]: arXiv:2407.08608, measured.)");
  EXPECT_EQ(note("rate").kind, SourceKind::measured);
}

TEST_F(ConfigNotes, AHashInsideQuotesIsNoComment) {
  write("device.yaml", "name: \"A # B\"\n");
  EXPECT_EQ(note("name").comment, "");
  EXPECT_FALSE(note("name").kind);
}

TEST_F(ConfigNotes, WhatIsTakenFromAnotherFileKeepsItsOwnComment) {
  write("lib/base.yaml", "a: 1   # [data sheet] base\nb: 2\n");
  write("device.yaml", "use: base   # [guessed] here\na: 3   # [measured] here\n");
  EXPECT_EQ(note("a").kind, SourceKind::measured);
  EXPECT_FALSE(note("b").kind);
}

}  // namespace
}  // namespace warploom
