// SPDX-License-Identifier: Apache-2.0
// A collective from an MSCCL XML file: who sends which chunk when, written by a user or a synthesiser.
//
// The file (msccl-tools' format): <algo name coll ngpus nchunksperloop proto inplace minBytes maxBytes nchannels> of
// <gpu id i_chunks o_chunks s_chunks> of <tb id send recv chan> of <step s type srcbuf srcoff dstbuf dstoff cnt depid
// deps>. Types: s send, r receive, rcs receive-copy-send, rrc receive-reduce-copy, rrs receive-reduce-send, rrcs
// receive-reduce-copy-send, cpy copy, re reduce, nop. The k-th send from a GPU to another on a channel meets the k-th
// receive there; a connection holds 8 messages (NCCL_STEPS), so that a send waits for the receive 8 before it.
//
// A file is checked when it is read: it is refused where an element or an attribute is unknown, a number outside its
// range, a rank or threadblock twice, a chunk outside its buffer, a send without receive, a cycle of waits, or where a
// rank ends without what the collective owes it (the file is run with symbols for data).
//
// Equation of the plan: a step's level is the number of sends on the longest chain of waits before it. Levels follow
// each other; one costs hop or network_hop + the longest of the bytes of its most loaded link over that link's rate and
// of those that one threadblock sends and receives over a threadblock's pace (block_rate). Not modelled: levels that
// overlap where no wait forbids it, and loops over long buffers that do. Source: microsoft/msccl (README, msccl-tools
// msccl/language/ir.py); Cowan et al., MSCCLang, ASPLOS 2023.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "network/collectives/collective.hpp"

namespace warploom {

class MscclPlan final : public Collective {
 public:
  // Transfers that no wait keeps apart, in members and chunks.
  struct LevelOfPlan {
    std::shared_ptr<const std::vector<MemberPair>> pairs;
    std::int64_t block_chunks = 1;  // that one threadblock sends and receives, at most
  };
  struct Content {
    std::string name;
    CollectiveKind kind = CollectiveKind::all_reduce;
    Protocol protocol = Protocol::simple;
    int ranks = 0;
    int chunks = 0;                // of the buffer that the call counts
    int threadblocks = 0;          // of the GPU that has most
    std::int64_t least_bytes = 0;  // of a call that it is for
    std::int64_t most_bytes = INT64_MAX;
    std::vector<LevelOfPlan> levels;
    Schedule schedule;
  };

  explicit MscclPlan(Content content) : content_(std::move(content)) {}

  CollectiveKind kind() const override { return content_.kind; }
  Algorithm algorithm() const override { return Algorithm::msccl; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  bool is_offered(const Setting& /*setting*/, Protocol /*protocol*/) const override { return false; }
  Plan plan(const Setting& setting, Protocol protocol) const override;
  // Of its own number of ranks.
  Schedule schedule(int ranks) const override;

  const Content& content() const { return content_; }

 private:
  Content content_;
};

// Throws UserError with file and line.
MscclPlan parse_msccl(const std::string& text, const std::string& file);
std::unique_ptr<MscclPlan> load_msccl(const std::string& path);

// A schedule of reductions and gatherings in place, as such a file.
std::string msccl_xml(const Schedule& schedule, CollectiveKind kind, const std::string& name);

}  // namespace warploom
