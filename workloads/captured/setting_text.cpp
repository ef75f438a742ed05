// SPDX-License-Identifier: Apache-2.0
// Lines and words of command lines, argument lists, TOML, JSON and YAML.
#include "workloads/captured/setting_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

using Json = nlohmann::json;
constexpr int max_depth = 32;

bool is_key_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

bool is_key(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), is_key_letter);
}

std::string snake(std::string_view key) {
  while (key.starts_with('-')) key.remove_prefix(1);
  std::string result = to_lower(key);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

std::string_view without_quotes(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

// What stands before a `#` that no quotes hold.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

// "  tensor_model_parallel_size ...................... 8", as Megatron-LM prints it, a rank's name before it or not.
std::optional<Setting> listed_argument(std::string_view line) {
  const auto dots = line.find(" ...");
  if (dots == std::string_view::npos) return std::nullopt;
  std::string_view key = trim(line.substr(0, dots));
  if (const auto space = key.find_last_of(" \t:"); space != std::string_view::npos) key = key.substr(space + 1);
  const auto after = line.find_first_not_of('.', dots + 1);
  if (!is_key(key) || after == std::string_view::npos || line[after] != ' ') return std::nullopt;
  return Setting{snake(key), std::string(trim(line.substr(after))), 0};
}

// `key = value` (TOML) or `key: value` (YAML), of scalars.
std::optional<Setting> assigned(std::string_view line, char sign) {
  line = without_comment(line);
  const auto at = line.find(sign);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view key = without_quotes(line.substr(0, at));
  const std::string_view value = trim(line.substr(at + 1));
  if (!is_key(key) || value.empty() || value.front() == '[' || value.front() == '{') return std::nullopt;
  return Setting{snake(key), std::string(without_quotes(value)), 0};
}

struct Word {
  std::string text;
  int line = 0;
};

// As a shell parts them: quotes, continued lines, comments.
std::vector<Word> shell_words(std::string_view text) {
  std::vector<Word> words;
  std::string word;
  bool has_word = false;
  char quote = 0;
  int line = 1;
  const auto end_word = [&] {
    if (has_word) words.push_back({word, line});
    word.clear();
    has_word = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool continues = c == '\\' && i + 1 < text.size() && (text[i + 1] == '\n' || text[i + 1] == '\r');
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      has_word = true;
    } else if (c == '#' && !has_word) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (continues || std::isspace(static_cast<unsigned char>(c)) != 0) {
      end_word();
    } else {
      word += c;
      has_word = true;
    }
    if (c == '\n') ++line;
  }
  end_word();
  return words;
}

// `$NAME` and `${NAME}` whole words of variables that the script set before.
std::string expanded(const std::string& word, const std::map<std::string, std::string>& variables) {
  if (!word.starts_with('$')) return word;
  std::string name = word.substr(1);
  if (name.size() >= 2 && name.front() == '{' && name.back() == '}') name = name.substr(1, name.size() - 2);
  const auto found = variables.find(name);
  return found == variables.end() ? word : found->second;
}

std::vector<Setting> of_command_line(std::string_view text) {
  std::vector<Setting> settings;
  std::map<std::string, std::string> variables;
  bool wants_value = false;
  for (const auto& [text_of_word, line] : shell_words(text)) {
    const std::string word = expanded(text_of_word, variables);
    const bool is_option = word.size() > 2 && word.starts_with("--") && is_key(std::string_view(word).substr(2, 1));
    const auto equals = word.find('=');
    if (is_option) {
      settings.push_back(
          {snake(word.substr(0, equals)), equals == std::string::npos ? "" : word.substr(equals + 1), line});
      wants_value = equals == std::string::npos;
    } else if (wants_value && word != ")" && word != "(") {
      settings.back().value = word;
      wants_value = false;
    } else {
      if (equals != std::string::npos && is_key(std::string_view(word).substr(0, equals))) {
        variables[word.substr(0, equals)] = word.substr(equals + 1);
      }
      // vllm serve MODEL
      if (word == "serve" && settings.empty()) {
        settings.push_back({"model", "", line});
        wants_value = true;
        continue;
      }
      wants_value = false;
    }
  }
  std::erase_if(settings, [](const Setting& one) { return one.key == "model" && one.value.empty(); });
  return settings;
}

std::vector<Setting> of_lines(std::string_view text, const std::string& format) {
  std::vector<Setting> settings;
  std::string table;
  int number = 0;
  for (const auto& line : split(text, '\n')) {
    ++number;
    const std::string_view plain = trim(without_comment(line));
    if (format == "TOML" && plain.size() > 2 && plain.front() == '[' && plain.back() == ']') {
      table = snake(trim(plain.substr(1, plain.size() - 2))) + ".";
      continue;
    }
    auto setting = format == "argument list" ? listed_argument(line) : assigned(line, format == "TOML" ? '=' : ':');
    if (!setting) continue;
    setting->key = table + setting->key;
    setting->line = number;
    settings.push_back(std::move(*setting));
  }
  return settings;
}

void add_json(const Json& json, const std::string& table, std::vector<Setting>& settings) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      if (table.empty()) add_json(value, snake(key) + ".", settings);
    } else if (value.is_string()) {
      settings.push_back({table + snake(key), value.get<std::string>(), 0});
    } else if (value.is_number() || value.is_boolean()) {
      settings.push_back({table + snake(key), value.dump(), 0});
    }
  }
}

std::vector<Setting> of_json(std::string_view text, const std::string& file) {
  const auto watch_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > max_depth) throw UserError(fmt::format("{}: nested deeper than {} levels", file, max_depth));
    return true;
  };
  std::vector<Setting> settings;
  try {
    add_json(Json::parse(text.begin(), text.end(), watch_depth), "", settings);
  } catch (const Json::exception& error) {
    throw UserError(fmt::format("{}: not JSON: {}", file, warploom::quoted(error.what())));
  }
  return settings;
}

std::string format_of(std::string_view text) {
  if (trim(text).starts_with('{')) return "JSON";
  std::size_t listed = 0;
  std::size_t options = 0;
  bool has_table = false;
  for (const auto& line : split(text, '\n')) {
    const std::string_view plain = trim(without_comment(line));
    if (listed_argument(line)) ++listed;
    for (auto at = plain.find("--"); at != std::string_view::npos; at = plain.find("--", at + 2)) {
      const bool begins = at == 0 || plain[at - 1] == ' ' || plain[at - 1] == '\t' || plain[at - 1] == '"';
      if (begins && at + 2 < plain.size() && std::isalpha(static_cast<unsigned char>(plain[at + 2])) != 0) ++options;
    }
    if (plain.size() > 2 && plain.front() == '[' && plain.back() == ']' && is_key(plain.substr(1, plain.size() - 2))) {
      has_table = true;
    }
  }
  if (listed > 2) return "argument list";
  if (has_table) return "TOML";
  return options > 0 ? "command line" : "YAML";
}

}  // namespace

SettingText read_setting_text(std::string_view text, const std::string& file) {
  SettingText result;
  result.format = format_of(text);
  if (result.format == "JSON") {
    result.settings = of_json(text, file);
  } else if (result.format == "command line") {
    result.settings = of_command_line(text);
  } else {
    result.settings = of_lines(text, result.format);
  }
  return result;
}

}  // namespace warploom
