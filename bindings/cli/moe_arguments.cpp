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

std::int64_t needed(const char* option, std::int64_t value, std::int64_t least) {
  if (value >= least) return value;
  throw UserError(fmt::format("MoE operations need `{}`, at least {}", option, least), example);
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
  const std::pair<const char*, bool> given[] = {{"--tokens", tokens >= 0},
                                                {"--hidden", hidden != 0},
                                                {"--top-k", top_k != 0},
                                                {"--experts", experts != 0},
                                                {"--kind", !kind.empty()},
                                                {"--sms", sms != 0},
                                                {"--dispatch-type", !dispatch_type.empty()},
                                                {"--combine-type", !combine_type.empty()},
                                                {"--node-limit", node_limit != 0},
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
  traffic.tokens = needed("--tokens", tokens, 0);
  traffic.hidden = needed("--hidden", hidden, 1);
  traffic.top_k = needed("--top-k", top_k, 1);
  traffic.experts = needed("--experts", experts, 1);
  traffic.mode = kind == name(MoeMode::low_latency) ? MoeMode::low_latency : MoeMode::normal;
  if (sms != 0) {
    if (traffic.mode == MoeMode::low_latency) {
      throw UserError("`--sms` says nothing of low-latency kernels",
                      "they take an SM for every expert, as far as the device has them");
    }
    traffic.sms = sms;
  }
  traffic.dispatch_type = type_of("--dispatch-type", dispatch_type, traffic.dispatch_type);
  traffic.combine_type = type_of("--combine-type", combine_type, traffic.combine_type);
  traffic.node_limit = node_limit;
  traffic.device_sms = cluster.device_sms;
  traffic.memory = cluster.memory;
  if (!skew.empty()) traffic.imbalance = imbalance_of(skew, traffic, ranks);
  if (!loads.empty()) {
    if (!skew.empty()) throw UserError("`--skew` and `--loads` say the same in two ways", "leave one of them out");
    const auto all = loads_of(loads);
    if (static_cast<std::int64_t>(all.size()) != traffic.experts) {
      throw UserError(fmt::format("`--loads`: {} numbers for {} experts", all.size(), traffic.experts));
    }
    traffic.imbalance = rank_imbalance(all, ranks);
  }
  const std::int64_t node = cluster.network.topology->node_size();
  const std::int64_t nodes = (ranks + node - 1) / node;
  Call made;
  made.kind = operation;
  made.type = operation == CollectiveKind::moe_dispatch ? traffic.dispatch_type : traffic.combine_type;
  // Uneven nodes are refused with the plan.
  made.bytes = moe_bytes(traffic, operation, ranks, nodes);
  made.moe = traffic;
  return made;
}

void add_moe_arguments(CLI::App* command, MoeArguments& arguments) {
  const auto number = [&](const char* option, std::int64_t& value, const char* meaning) {
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
