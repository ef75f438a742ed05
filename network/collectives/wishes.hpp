// SPDX-License-Identifier: Apache-2.0
// What the user wants instead of the library's choice, in NCCL's own words: `ring`,
// `allreduce:tree,ring;allgather:^pat`.
//
// Lists are parted by `;`. One that begins with a call and `:` is for that call, another for all calls without a list
// of their own. `^` before a list leaves out what it names. Capitals and `_` do not count. Source: NCCL 2.30.7
// src/graph/tuning.cc (parseList), documentation of NCCL_ALGO and NCCL_PROTO.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/work/call.hpp"

namespace warploom {

class Wishes {
 public:
  // `known`: the names that may be wanted. "" and "auto" want nothing. Throws UserError for what it does not know.
  Wishes(std::string_view text, const std::vector<std::string>& known);

  // Nothing is wanted of such calls.
  bool is_free(CollectiveKind kind) const { return list_of(kind) == nullptr; }
  bool allows(CollectiveKind kind, std::string_view name) const;
  // It is asked for by name, and not merely left over.
  bool asks_for(CollectiveKind kind, std::string_view name) const;

 private:
  struct List {
    std::string call;  // empty: all others
    bool leaves_out = false;
    std::vector<std::string> names;
  };
  const List* list_of(CollectiveKind kind) const;
  static bool has(const List& list, std::string_view name);

  std::vector<List> lists_;
};

}  // namespace warploom
