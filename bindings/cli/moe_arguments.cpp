// SPDX-License-Identifier: Apache-2.0
// From options to a call.
#include "bindings/cli/moe_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "hw_models/kernels/expert_loads.hpp"
#include "network/collectives/moe/moe_reach.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr const char* example = "such as `--tokens 4096 --hidden 7168 --top-k 8 --experts 256`";

constexpr std::int64_t most_tokens = std::int64_t{1} << 32;
constexpr std::int64_t most_size = std::int64_t{1} << 20;  // hidden, experts

void expect_range(const char* option, std::int64_t value, std::int64_t least, std::int64_t most,
                  const std::string& hint = {}) {
  if (value >= least && value <= most) return;
  throw UserError(fmt::format("`{}`: expected {} to {}, got {}", option, least, most, value), hint);
}

std::int64_t needed(const char* option, std::optional<std::int64_t> value, std::int64_t least, std::int64_t most) {
  if (!value) throw UserError(fmt::format("MoE operations need `{}`, at least {}", option, least), example);
  expect_range(option, *value, least, most);
  return *value;
}

DataType type_of(const char* option, const std::string& text, DataType otherwise) {
  if (text.empty()) return otherwise;
  if (const auto type = find_data_type(text)) return *type;
  throw UserError(fmt::format("`{}`: expected a data type such as `fp8`, got {}", option, warploom::quoted(text)));
}

// "120,80,...": tokens of each expert.
std::vector<std::int64_t> loads_of(const std::string& text) {
  std::vector<std::int64_t> loads;
  for (const auto& part : split(text, ',')) {
    const auto word = trim(part);
    std::int64_t load = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), load);
    if (error != std::errc() || end != word.data() + word.size() || load < 0) {
      throw UserError(fmt::format("`--loads`: expected numbers of tokens such as `120,80`, got {}",
                                  warploom::quoted(std::string(word))));
    }
    loads.push_back(load);
  }
  return loads;
}

// A token goes to an expert once at most, and to `top_k` of them.
void expect_loads(const std::vector<std::int64_t>& loads, const MoeTraffic& traffic, std::int64_t ranks) {
  if (static_cast<std::int64_t>(loads.size()) != traffic.experts)
    throw UserError(fmt::format("`--loads`: {} numbers for {} experts", loads.size(), traffic.experts));
  const std::int64_t tokens = traffic.tokens * ranks;
  double sum = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i] > tokens) {
      throw UserError(fmt::format("`--loads`: expert {} has {} tokens, but all ranks have {}", i, loads[i], tokens),
                      "a token goes to an expert once at most");
    }
    sum += static_cast<double>(loads[i]);
  }
  const double due = static_cast<double>(tokens) * static_cast<double>(traffic.top_k);
  if (sum == due) return;
  throw UserError(
      fmt::format("`--loads`: the numbers add up to {:.0f}, but {} ranks of {} tokens with {} experts each make {:.0f}",
                  sum, ranks, traffic.tokens, traffic.top_k, due),
      "they are the tokens of all ranks that each expert gets");
}

// What concerns several options together, by their names.
void expect_possible(const MoeTraffic& traffic, std::int64_t ranks, std::int64_t nodes) {
  if (traffic.experts % ranks != 0) {
    throw UserError(fmt::format("`--experts`: {} experts cannot lie evenly on {} ranks", traffic.experts, ranks),
                    "take a number of experts that the ranks divide");
  }
  if (traffic.node_limit == 0) return;
  const std::int64_t within = traffic.experts / nodes * traffic.node_limit;
  if (traffic.top_k > within) {
    throw UserError(fmt::format("`--node-limit`: {} nodes have {} experts, too few for the {} of a token (`--top-k`)",
                                traffic.node_limit, within, traffic.top_k));
  }
}

// The most loaded rank over the mean, over draws of a power law.
double imbalance_of(const std::string& text, const MoeTraffic& traffic, std::int64_t ranks) {
  double exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size() || !(exponent >= 0 && exponent <= 10))
    throw UserError(fmt::format("`--skew`: expected an exponent of 0 to 10, got {}", warploom::quoted(text)));
  require_possible(traffic, ranks, 1);
  if (traffic.tokens == 0 || exponent == 0) return 1;
  Routing routing;
  routing.tokens = std::min<std::int64_t>(traffic.tokens * ranks, 65'536);  // a sample says as much
  routing.top_k = traffic.top_k;
  routing.experts = traffic.experts;
  routing.local_experts = traffic.experts / ranks;
  routing.exponent = exponent;
  double sum = 0;
  const auto draws = expert_loads(routing);
  for (const auto& loads_of_device : draws) {
    for (const std::int64_t load : loads_of_device) sum += static_cast<double>(load);
  }
  const double mean = static_cast<double>(routing.tokens * routing.top_k) / static_cast<double>(ranks);
  return std::clamp(sum / static_cast<double>(draws.size()) / mean, 1.0, static_cast<double>(ranks));
}

}  // namespace

void MoeArguments::require_unused(CollectiveKind operation) const {
  const std::pair<const char*, bool> given[] = {{"--tokens", tokens.has_value()},
                                                {"--hidden", hidden.has_value()},
                                                {"--top-k", top_k.has_value()},
                                                {"--experts", experts.has_value()},
                                                {"--kind", !kind.empty()},
                                                {"--sms", sms.has_value()},
                                                {"--dispatch-type", !dispatch_type.empty()},
                                                {"--combine-type", !combine_type.empty()},
                                                {"--node-limit", node_limit.has_value()},
                                                {"--loads", !loads.empty()},
                                                {"--skew", !skew.empty()}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    throw UserError(fmt::format("`{}` says nothing of {}", option, name(operation)),
                    "it is of `moe_dispatch` and `moe_combine`");
  }
}

Call MoeArguments::call(CollectiveKind operation, std::int64_t ranks, const FoundNetwork& cluster) const {
  MoeTraffic traffic;
  traffic.tokens = needed("--tokens", tokens, 0, most_tokens);
  traffic.hidden = needed("--hidden", hidden, 1, most_size);
  traffic.top_k = needed("--top-k", top_k, 1, most_size);
  traffic.experts = needed("--experts", experts, 1, most_size);
  expect_range("--top-k", traffic.top_k, 1, traffic.experts, "a token goes to an expert once at most");
  traffic.mode = kind == name(MoeMode::low_latency) ? MoeMode::low_latency : MoeMode::normal;
  traffic.device_sms = cluster.device.sm.count;
  traffic.memory = cluster.device.reached_bandwidth();
  if (traffic.mode == MoeMode::low_latency) {
    if (sms) {
      throw UserError("`--sms` says nothing of low-latency kernels",
                      "they take an SM for every expert, as far as the device has them");
    }
    if (node_limit) {
      throw UserError("`--node-limit` says nothing of low-latency kernels",
                      "they send a token to every expert by itself, wherever it is");
    }
  }
  if (sms) {
    expect_range("--sms", *sms, 2, traffic.device_sms, "a channel takes two, one sends and one receives");
    if (*sms % 2 != 0) {
      throw UserError(fmt::format("`--sms`: expected an even number, got {}", *sms),
                      "a channel takes two, one sends and one receives");
    }
    traffic.sms = *sms;
  }
  const std::int64_t node = cluster.network.topology->node_size();
  const std::int64_t nodes = (ranks + node - 1) / node;
  if (node_limit) {
    expect_range("--node-limit", *node_limit, 1, nodes,
                 nodes == 1 ? "the ranks are in one node" : fmt::format("the ranks are in {} nodes", nodes));
    traffic.node_limit = *node_limit;
  }
  expect_possible(traffic, ranks, nodes);
  traffic.dispatch_type = type_of("--dispatch-type", dispatch_type, traffic.dispatch_type);
  traffic.combine_type = type_of("--combine-type", combine_type, traffic.combine_type);
  if (!skew.empty()) traffic.imbalance = imbalance_of(skew, traffic, ranks);
  if (!loads.empty()) {
    if (!skew.empty()) throw UserError("`--skew` and `--loads` say the same in two ways", "leave one of them out");
    const auto all = loads_of(loads);
    expect_loads(all, traffic, ranks);
    traffic.imbalance = rank_imbalance(all, ranks);
  }
  Call made;
  made.kind = operation;
  made.type = operation == CollectiveKind::moe_dispatch ? traffic.dispatch_type : traffic.combine_type;
  // Uneven nodes are refused with the plan.
  made.bytes = moe_bytes(traffic, operation, ranks, nodes);
  made.moe = traffic;
  return made;
}

void add_moe_arguments(CLI::App* command, MoeArguments& arguments) {
  const auto number = [&](const char* option, std::optional<std::int64_t>& value, const char* meaning) {
    add_integer(command, option, [&value](std::int64_t got) { value = got; }, meaning);
  };
  number("--tokens", arguments.tokens, "MoE: tokens of a rank");
  number("--hidden", arguments.hidden, "MoE: elements of a token");
  number("--top-k", arguments.top_k, "MoE: experts that a token goes to");
  number("--experts", arguments.experts, "MoE: experts of all ranks");
  set_choices(command->add_option("--kind", arguments.kind, "MoE: DeepEP's normal (default) or low-latency kernels")
                  ->type_name("NAME"),
              {"normal", "low_latency"});
  number("--sms", arguments.sms, "MoE: SMs that normal kernels take (default 24)");
  set_not_empty(command->add_option("--dispatch-type", arguments.dispatch_type, "MoE: of the tokens (default fp8)")
                    ->type_name("TYPE"));
  set_not_empty(
      command->add_option("--combine-type", arguments.combine_type, "MoE: of the experts' results (default bf16)")
          ->type_name("TYPE"));
  number("--node-limit", arguments.node_limit, "MoE: nodes that a token's experts lie in at most (default: any)");
  set_not_empty(command
                    ->add_option("--loads", arguments.loads,
                                 "MoE: tokens of each expert, where they are uneven: 120,80,... (default: even)")
                    ->type_name("N,N,..."));
  set_not_empty(command
                    ->add_option("--skew", arguments.skew,
                                 "MoE: exponent of the power law that the experts' loads follow (default 0: even)")
                    ->type_name("NUMBER"));
}

}  // namespace warploom
