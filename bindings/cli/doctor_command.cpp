// SPDX-License-Identifier: Apache-2.0
// `warploom doctor`: whether this installation can do its work.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

#include "bindings/cli/catalogue.hpp"
#include "bindings/cli/command.hpp"
#include "bindings/cli/command_line.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/library.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/experiment.hpp"
#include "workloads/models/hugging_face.hpp"
#include "workloads/network_lookup.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

enum class Health { well, note, ill };

struct Finding {
  Health health = Health::well;
  std::string what;
  std::string detail;
};

constexpr std::string_view word(Health health) {
  constexpr std::string_view words[] = {"ok", "note", "ILL"};
  return words[static_cast<std::size_t>(health)];
}

// Reads every file of one kind of the library.
Finding check_files(const std::string& kind, const std::function<void(const std::string&)>& read) {
  std::vector<std::string> mistakes;
  const auto entries = catalogue(kind);
  for (const CatalogueEntry& entry : entries) {
    try {
      read(entry.name);
    } catch (const UserError& error) {
      mistakes.emplace_back(error.what());
    }
  }
  if (entries.empty()) return {Health::ill, kind, "none found: set WARPLOOM_CONFIGS to the folder `configs`"};
  if (mistakes.empty()) return {Health::well, kind, fmt::format("{} files, all read", entries.size())};
  return {Health::ill, kind,
          fmt::format("{} of {} files cannot be read:\n{}", mistakes.size(), entries.size(), join(mistakes, "\n"))};
}

Finding check_library(const Library& library) {
  if (library.roots().empty()) {
    return {Health::ill, "library", "no folder: set WARPLOOM_CONFIGS to the folder `configs` of the sources"};
  }
  std::vector<std::string> shown;
  for (const std::string& root : library.roots()) shown.push_back(display_path(root));
  return {Health::well, "library", join(shown, ":")};
}

// Measured tables are the user's own business: a note, not an illness.
Finding check_tables() {
  const char* data = std::getenv("WARPLOOM_DATA");
  if (data == nullptr || *data == 0) {
    return {Health::note, "tables", "WARPLOOM_DATA is not set: `warploom validate` takes tables by their path"};
  }
  std::error_code error;
  std::size_t tables = 0;
  for (fs::recursive_directory_iterator it(data, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end && tables < 100'000; it.increment(error)) {
    tables += it->path().extension() == ".csv" ? 1 : 0;
  }
  if (error || tables == 0) {
    return {Health::ill, "tables", fmt::format("WARPLOOM_DATA names `{}`, where no table (.csv) is", data)};
  }
  return {Health::well, "tables", fmt::format("{} below {}", tables, data)};
}

Finding check_step() {
  try {
    const RunResult result = Experiment::load("experiments/llama3_8b_8_h100").run({});
    return {Health::well, "simulation", fmt::format("llama3_8b_8_h100: {} a step", to_string(result.report.step_time))};
  } catch (const UserError& error) {
    return {Health::ill, "simulation", error.what()};
  }
}

std::vector<Finding> examine() {
  const Library library = Library::from_environment();
  std::vector<Finding> findings = {check_library(library)};
  findings.push_back(check_files("devices", [&](const auto& name) { load_device("devices/" + name, {}, library); }));
  findings.push_back(
      check_files("clusters", [&](const auto& name) { load_network("clusters/" + name, 2, {}, library); }));
  findings.push_back(check_files("models", [&](const auto& name) {
    for (const LibraryEntry& entry : library.find("models/" + name, ".json")) read_hugging_face(entry.path);
  }));
  findings.push_back(check_files("experiments", [&](const auto& name) { Experiment::load("experiments/" + name); }));
  findings.push_back(check_step());
  findings.push_back(check_tables());
  return findings;
}

void report(Session& session) {
  std::string text = build_info() + "\n";
  std::size_t ill = 0;
  for (const Finding& finding : examine()) {
    text += fmt::format("{:<5} {:<12} {}\n", word(finding.health), finding.what, finding.detail);
    ill += finding.health == Health::ill ? 1 : 0;
  }
  session.console.print(text);
  if (ill > 0) throw UserError(fmt::format("{} of the above {} ill", ill, ill == 1 ? "is" : "are"));
}

}  // namespace

void add_doctor(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "doctor", "check this installation: library, tables, a first simulation", {"warploom doctor"});
  command->callback([&action] { action = [](Session& session) { report(session); }; });
}

}  // namespace warploom
