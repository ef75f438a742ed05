// SPDX-License-Identifier: Apache-2.0
// What the commands that play kernels in detail share: which SMs, a picture, what is free, the cache.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/cli/command.hpp"
#include "hw_models/detailed_cache.hpp"
#include "hw_models/ideal_device.hpp"

namespace warploom {

struct DetailedArguments {
  std::string sms = "one";
  std::string timeline;
  std::string ideal;
  bool no_cache = false;

  // Throws UserError for what has no meaning without the detailed model.
  void require_detailed() const;
  std::vector<Ideal> ideals() const { return ideal.empty() ? std::vector<Ideal>() : parse_ideals(ideal); }
};

void add_sms(CLI::App* command, DetailedArguments& arguments);
void add_timeline(CLI::App* command, DetailedArguments& arguments);
void add_ideal(CLI::App* command, std::string& ideal);
void add_no_cache(CLI::App* command, bool& no_cache);

// The user's cache, or none. Notes about it go to standard error when it is closed.
class OpenCache {
 public:
  OpenCache(const Console& console, bool is_wanted);
  ~OpenCache();
  OpenCache(const OpenCache&) = delete;
  OpenCache& operator=(const OpenCache&) = delete;
  std::shared_ptr<DetailedCache> get() const { return cache_; }

 private:
  const Console& console_;
  std::shared_ptr<DetailedCache> cache_;
};

// The pictures of all programs, one after the other, for ui.perfetto.dev. Throws UserError.
void write_pictures(const std::vector<DetailedResult>& programs, const std::string& path);
// Where they stand; nothing where nobody asked for one.
std::string told_picture(const DetailedArguments& arguments);

}  // namespace warploom
