// SPDX-License-Identifier: Apache-2.0
// From a file to the resolved tree: `use:` followed top down, so that each level first becomes what it inherits, then
// takes the overrides that end there, then lets its children do the same.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <unordered_map>

#include "sim/core/config_node.hpp"
#include "sim/core/config_override.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace fs = std::filesystem;
using Kind = ConfigValue::Kind;

namespace detail {

namespace {

std::string near_files(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) return "the folder `" + folder.string() + "` does not exist";
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    names.push_back(it->path().filename().string());
    if (names.size() >= 10'000) break;
  }
  std::sort(names.begin(), names.end());
  const auto near = nearest_name(path.filename().string(), names);
  if (!near) return {};
  return "did you mean `" + (path.has_parent_path() ? (path.parent_path() / *near).string() : *near) + "`?";
}

// `from` is where the path was written; unknown for a path from the caller.
std::string read_file(const std::string& path, const Origin& from, bool is_regular_only) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found || status.type() == fs::file_type::none) {
    throw UserError(from, "there is no file " + warploom::quoted(path), near_files(path));
  }
  if (status.type() == fs::file_type::directory)
    throw UserError(from, warploom::quoted(path) + " is a folder, not a file");
  if (is_regular_only && status.type() != fs::file_type::regular) {
    throw UserError(from, warploom::quoted(path) + " is not a plain file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(from, "cannot read " + warploom::quoted(path) + ": " + std::strerror(errno));
  std::string text;
  char block[65536];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > ConfigLimits::file_bytes) break;  // parse_yaml says so
  }
  // Half a file may well be a valid one.
  if (file.bad()) throw UserError(from, "cannot read " + warploom::quoted(path) + " to its end");
  return text;
}

// Maps merge; everything else is replaced; a null covers.
void merge(RawNode& base, RawNode&& over) {
  if (base.kind != Kind::map || over.kind != Kind::map) {
    const bool drops = over.kind == Kind::null && base.kind != Kind::null;
    base = std::move(over);
    base.drops = base.drops || drops;
    return;
  }
  base.origin = over.origin;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < base.entries.size(); ++i) places.emplace(base.entries[i].key, i);
  for (RawEntry& entry : over.entries) {
    const auto it = places.find(entry.key);
    if (it == places.end()) {
      base.entries.push_back(std::move(entry));
    } else {
      base.entries[it->second].origin = entry.origin;
      merge(base.entries[it->second].value, std::move(entry.value));
    }
  }
  for (ConfigValue::Repeat& repeat : over.repeats) base.repeats.push_back(std::move(repeat));
}

// A file that is being used, and the file that uses it.
struct Using {
  std::string shown;
  std::string identity;
  std::shared_ptr<const Using> by;
};
using Scope = std::vector<std::shared_ptr<const Using>>;  // all files that the present node comes from

class Loader {
 public:
  Loader(const std::vector<std::string>& overrides, const Library& library) : library_(library) {
    for (const std::string& text : overrides) {
      try {
        overrides_.push_back(parse_override(text, budget_));
      } catch (const ConfigError& error) {
        for (const Diagnostic& d : error.diagnostics()) diagnostics_.add(d);
      }
    }
  }

  ConfigValue load(std::string_view text, const std::string& shown, const std::string& identity) {
    RawNode root = parse_yaml(text, shown, budget_);
    if (!root.origin.is_known()) root.origin = Origin(shown, 1, 1);
    if (root.kind == Kind::null) root.kind = Kind::map;  // an empty file is an empty map
    std::vector<Pending> pending;
    for (const Override& o : overrides_) pending.push_back({&o, 0});
    const Scope scope = {std::make_shared<const Using>(Using{shown, identity, nullptr})};
    resolve(root, "", scope, std::move(pending), 0);
    diagnostics_.throw_if_any();
    return ConfigValue(freeze(std::move(root), {}));
  }

 private:
  void resolve(RawNode& node, const std::string& path, const Scope& scope, std::vector<Pending> pending,
               std::size_t depth) {
    if (depth > ConfigLimits::depth) {
      diagnostics_.error(node.origin, path, fmt::format("nested deeper than {} levels", ConfigLimits::depth));
      return;
    }
    Scope wider;
    const Scope* inner = &scope;
    if (node.kind == Kind::map) {
      override_use(node, pending);
      if (node.find("use") != nullptr) {
        wider = scope;
        follow_uses(node, path, wider);
        inner = &wider;
      }
    }
    apply_overrides(node, path, pending, diagnostics_);
    for (RawEntry& entry : node.entries) {
      if (is_annotation(entry.key)) continue;
      resolve(entry.value, child_path(path, entry.key), *inner, for_child(pending, entry.key), depth + 1);
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      resolve(node.items[i], child_path(path, i), *inner, for_child(pending, i), depth + 1);
    }
  }

  // An override of `use` comes before it is followed, and the last of them counts.
  static void override_use(RawNode& node, std::vector<Pending>& pending) {
    for (const Pending& p : pending) {
      if (!p.is_last() || p.step().index || p.step().key != "use") continue;
      if (RawNode* use = node.find("use")) {
        *use = p.what->value;
      } else {
        node.entries.push_back({"use", Origin::command_line(), p.what->value});
      }
    }
    std::erase_if(pending, [](const Pending& p) { return p.is_last() && !p.step().index && p.step().key == "use"; });
  }

  // Until what is inherited says `use` no more.
  void follow_uses(RawNode& node, const std::string& path, Scope& scope) {
    while (true) {
      const auto it = std::find_if(node.entries.begin(), node.entries.end(),
                                   [](const RawEntry& entry) { return entry.key == "use"; });
      if (it == node.entries.end()) return;
      const RawNode use = std::move(it->value);
      node.entries.erase(it);
      if (use.kind == Kind::null) continue;  // `use: ~` drops an inherited one
      try {
        merge_used(node, use, scope);
      } catch (const TooLarge&) {
        throw;
      } catch (const ConfigError& error) {
        for (const Diagnostic& d : error.diagnostics()) diagnostics_.add(d);
        return;
      } catch (const UserError& error) {
        diagnostics_.error(error.origin(), child_path(path, "use"), error.message(), error.hint());
        return;
      }
    }
  }

  void merge_used(RawNode& node, const RawNode& use, Scope& scope) {
    if (use.kind != Kind::scalar) {
      throw UserError(use.origin, "expected the name of a library entry or a file such as `./pod.yaml`, got " +
                                      std::string(use.kind == Kind::list ? "a list" : "a map"));
    }
    const std::string path = used_path(use);
    File& file = files_[path];
    if (file.identity.empty()) {
      std::error_code ignored;
      file.shown = display_path(path);
      file.identity = fs::weakly_canonical(path, ignored).string();
    }
    const auto here = std::make_shared<const Using>(Using{file.shown, file.identity, user_of(use, scope)});
    refuse_cycle(*here, use.origin);
    RawNode base = content(file, path, use.origin);
    if (base.kind == Kind::null) base.kind = Kind::map;
    if (base.kind != Kind::map)
      throw UserError(use.origin, "`" + here->shown + "` is not a map: nothing to start from");
    scope.push_back(here);
    merge(base, std::move(node));
    node = std::move(base);
  }

  std::string used_path(const RawNode& use) const {
    const std::string& name = use.text;
    const bool is_path = name.starts_with("./") || name.starts_with("../") || name.starts_with("/");
    if (is_path) {
      const fs::path folder = use.origin.is_command_line() ? fs::path() : fs::path(use.origin.file()).parent_path();
      return (folder / name).lexically_normal().string();
    }
    const auto found = library_.find(name);
    if (found.size() == 1) return found.front().path;
    Library::Problem problem = library_.problem(name, found);
    const fs::path beside = fs::path(use.origin.file()).parent_path() / name;
    std::error_code ignored;
    if (found.empty() && !name.empty() && fs::is_regular_file(beside, ignored)) {
      problem.hint = "for the file beside this one write `./" + name + "`";
    }
    throw UserError(use.origin, problem.message, problem.hint);
  }

  // The file that a `use` was written in; the command line counts as the first.
  static std::shared_ptr<const Using> user_of(const RawNode& use, const Scope& scope) {
    for (auto it = scope.rbegin(); it != scope.rend(); ++it) {
      if ((*it)->shown == use.origin.file()) return *it;
    }
    return scope.front();
  }

  static void refuse_cycle(const Using& used, const Origin& origin) {
    std::vector<std::string> chain = {used.shown};
    for (auto it = used.by; it != nullptr; it = it->by) {
      chain.push_back(it->shown);
      if (it->identity != used.identity) continue;
      std::reverse(chain.begin(), chain.end());
      throw UserError(origin, "`use:` goes in a circle: " + join(chain, " -> "), "remove one of these `use:`");
    }
  }

  // Each file is read once; each use gets its own copy.
  struct File {
    std::string shown;
    std::string identity;
    std::optional<RawNode> root;
  };
  RawNode content(File& file, const std::string& path, const Origin& from) {
    if (!file.root) file.root = parse_yaml(read_file(path, from, true), file.shown, budget_);
    budget_.spend(*file.root, from);
    return *file.root;
  }

  static std::shared_ptr<const ConfigNode> freeze(RawNode&& raw, std::string path) {
    auto node = std::make_shared<ConfigNode>();
    node->kind = raw.kind;
    node->text = std::move(raw.text);
    node->is_quoted = raw.is_quoted;
    node->origin = std::move(raw.origin);
    node->repeats = std::move(raw.repeats);
    node->entries.reserve(raw.entries.size());
    for (RawEntry& entry : raw.entries) {
      if (entry.value.drops) continue;
      ConfigValue value(freeze(std::move(entry.value), child_path(path, entry.key)));
      node->entries.push_back({std::move(entry.key), std::move(entry.origin), std::move(value)});
    }
    node->items.reserve(raw.items.size());
    for (std::size_t i = 0; i < raw.items.size(); ++i) {
      node->items.emplace_back(freeze(std::move(raw.items[i]), child_path(path, i)));
    }
    node->path = std::move(path);
    return node;
  }

  const Library& library_;
  Budget budget_;
  Diagnostics diagnostics_;
  std::vector<Override> overrides_;
  std::map<std::string, File> files_;  // by path
};

// Near names in the folder, then in the library.
UserError missing_file(const std::string& path, const Library& library) {
  std::string hint = near_files(path);
  if (hint.empty()) {
    const Library::Problem problem = library.problem(path, {});
    hint = problem.hint.starts_with("did you mean") ? problem.hint : "`warploom list` shows what the library has";
  }
  return UserError("there is no file " + warploom::quoted(path), hint);
}

}  // namespace

}  // namespace detail

ConfigValue load_config(const std::string& path, const std::vector<std::string>& overrides, const Library& library) {
  std::error_code error;
  std::string file = path;
  if (!fs::exists(path, error)) {
    const auto found = library.find(path);
    if (found.size() > 1) {
      const Library::Problem problem = library.problem(path, found);
      throw UserError(problem.message, problem.hint);
    }
    if (found.size() == 1) file = found.front().path;
    if (found.empty()) throw detail::missing_file(path, library);
  }
  const std::string text = detail::read_file(file, Origin(), false);
  detail::Loader loader(overrides, library);
  return loader.load(text, display_path(file), fs::weakly_canonical(file, error).string());
}

ConfigValue parse_config_text(std::string_view text, const std::string& name, const std::vector<std::string>& overrides,
                              const Library& library) {
  std::error_code error;
  detail::Loader loader(overrides, library);
  return loader.load(text, name, fs::weakly_canonical(name, error).string());
}

}  // namespace warploom
