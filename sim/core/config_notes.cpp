// SPDX-License-Identifier: Apache-2.0
// Comments of YAML lines, matched to values by the line that each value knows.
#include "sim/core/config_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "sim/core/text.hpp"

namespace warploom {

namespace {

struct Word {
  std::string_view text;
  SourceKind kind;
};

// Tags and words, lower case; the first that occurs decides.
constexpr std::array<Word, 17> kind_words = {{{"[fit]", SourceKind::measured},
                                              {"[fit ", SourceKind::measured},
                                              {"[measured]", SourceKind::measured},
                                              {"[microbench]", SourceKind::measured},
                                              {"[data sheet]", SourceKind::data_sheet},
                                              {"[datasheet]", SourceKind::data_sheet},
                                              {"[whitepaper]", SourceKind::data_sheet},
                                              {"[white paper]", SourceKind::data_sheet},
                                              {"[announced]", SourceKind::announced},
                                              {"[derived]", SourceKind::derived},
                                              {"[guessed]", SourceKind::guessed},
                                              {"[estimate]", SourceKind::guessed},
                                              {"general knowledge", SourceKind::guessed},
                                              {"estimate", SourceKind::guessed},
                                              {"by hand", SourceKind::guessed},
                                              {"measured", SourceKind::measured},
                                              {"data sheet", SourceKind::data_sheet}}};

// The comment of a line, without its `#`.
std::string comment_of(std::string_view line) {
  const std::size_t start = comment_start(line);
  return start == std::string_view::npos ? std::string() : std::string(trim(line.substr(start + 1)));
}

bool is_comment_line(std::string_view line) { return trim(line).starts_with('#'); }

// One file's comments.
class Notes {
 public:
  explicit Notes(const std::string& path) {
    constexpr std::size_t longest = 1'000'000;
    std::ifstream file(path);
    std::string line;
    bool is_top = true;
    while (lines_.size() < longest && std::getline(file, line)) {
      if (!is_comment_line(line)) is_top = false;
      const std::string comment = comment_of(line);
      if (is_top) add_tags(comment);
      lines_.push_back(is_comment_line(line) ? std::string() : comment);
    }
  }

  std::string at(int line) const {
    const auto index = static_cast<std::size_t>(line - 1);
    return line >= 1 && index < lines_.size() ? explained(lines_[index]) : std::string();
  }

 private:
  // `[FA3] arXiv...   [DeepGEMM] ...`: a definition reaches to the next one, or over the lines below that start none.
  void add_tags(const std::string& comment) {
    std::size_t begin = comment.find('[');
    if (begin != 0 && !last_tag_.empty()) {
      tags_[last_tag_] += " " + std::string(trim(comment.substr(0, begin)));
    }
    while (begin != std::string::npos) {
      const std::size_t end = comment.find(']', begin);
      if (end == std::string::npos) return;
      const std::size_t next = comment.find('[', end);
      last_tag_ = comment.substr(begin, end - begin + 1);
      tags_[last_tag_] = std::string(trim(comment.substr(end + 1, next == std::string::npos ? next : next - end - 1)));
      begin = next;
    }
  }

  std::string explained(const std::string& comment) const {
    std::string text = comment;
    for (const auto& [tag, meaning] : tags_) {
      if (comment.find(tag) != std::string::npos && !meaning.empty()) text += fmt::format(" ({}: {})", tag, meaning);
    }
    return text;
  }

  std::vector<std::string> lines_;
  std::map<std::string, std::string> tags_;
  std::string last_tag_;
};

class Collector {
 public:
  void add(const ConfigValue& value, const std::string& outer) {
    const std::string own = comment_at(value.origin());
    const std::string comment = own.empty() ? outer : own;
    if (value.is_map()) {
      for (const ConfigEntry& entry : value.entries()) {
        const std::string of_key = comment_at(entry.origin);
        add(entry.value, of_key.empty() ? (is_far(entry.value, value) ? std::string() : comment) : of_key);
      }
    } else if (value.is_list()) {
      for (const ConfigValue& item : value.items()) add(item, comment);
    } else if (value.is_scalar()) {
      notes_.push_back({value.path(), value.text(), value.origin(), comment, source_kind(comment)});
    }
  }

  std::vector<ValueNote> take() { return std::move(notes_); }

 private:
  // What is written in another file is not what the comment is about.
  static bool is_far(const ConfigValue& inner, const ConfigValue& outer) {
    return inner.origin().file() != outer.origin().file();
  }

  std::string comment_at(const Origin& origin) {
    if (!origin.is_known() || origin.is_command_line()) return {};
    auto found = files_.find(origin.file());
    if (found == files_.end()) found = files_.emplace(origin.file(), Notes(origin.file())).first;
    return found->second.at(origin.line());
  }

  std::map<std::string, Notes> files_;
  std::vector<ValueNote> notes_;
};

}  // namespace

std::size_t comment_start(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string_view name(SourceKind kind) {
  constexpr std::string_view names[] = {"measured", "data sheet", "announced", "derived", "guessed"};
  return names[static_cast<std::size_t>(kind)];
}

std::optional<SourceKind> source_kind(std::string_view comment) {
  const std::string text = to_lower(comment);
  for (const Word& word : kind_words) {
    if (text.find(word.text) != std::string::npos) return word.kind;
  }
  return std::nullopt;
}

std::vector<ValueNote> value_notes(const ConfigValue& resolved) {
  Collector collector;
  collector.add(resolved, {});
  return collector.take();
}

}  // namespace warploom
