// The values that the cases send and the server knows, made by hand.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "interop_constants.h"
#include "interop_types.h"

namespace values {

using namespace interop;

inline std::string pattern(int count) {
  std::string out(count, '\0');
  for (int place = 0; place < count; ++place) out[place] = static_cast<char>(place);
  return out;
}

inline const std::vector<bool> bools{true, false};
inline const std::vector<int8_t> bytes{-128, -1, 0, 1, 127};
inline const std::vector<int16_t> i16s{-32768, -1, 0, 1, 32767};
inline const std::vector<int32_t> i32s{std::numeric_limits<int32_t>::min(), -1, 0, 1, 2147483647};
inline const std::vector<int64_t> i64s{std::numeric_limits<int64_t>::min(), -1, 0, 1,
                                       std::numeric_limits<int64_t>::max()};
inline const std::vector<double> doubles{0.0,
                                         1.5,
                                         -1.5,
                                         0.1,
                                         std::numeric_limits<double>::denorm_min(),
                                         std::numeric_limits<double>::max()};
inline const std::vector<double> special_doubles{-0.0, std::numeric_limits<double>::infinity(),
                                                 -std::numeric_limits<double>::infinity(),
                                                 std::numeric_limits<double>::quiet_NaN()};
inline const std::vector<std::string> strings{"", "plain", "Grüße, 世界 🚀"};
inline const std::vector<std::string> special_strings{
    std::string("a\0b", 3), "\"\\/\b\f\n\r\t\x01\x1f\x7f\xc2\x80\xe2\x80\xa8"};
inline const std::vector<std::string> binaries{"", std::string("\x00\xff\x80\x7f", 4), pattern(256)};
inline const std::vector<Colour::type> colours{Colour::INFRARED, Colour::RED, Colour::GREEN,
                                               Colour::BLUE, Colour::ULTRAVIOLET};

inline std::vector<Everything> everythings() {
  return {g_interop_constants.EVERYTHING_MIN, g_interop_constants.EVERYTHING_MAX};
}

inline std::vector<Containers> containers() {
  return {g_interop_constants.CONTAINERS_EMPTY, g_interop_constants.CONTAINERS_FULL};
}

inline shared::Origin origin() {
  shared::Origin out;
  out.__set_host("desk");
  out.__set_port(1);
  return out;
}

inline std::vector<Choice> choices() {
  std::vector<Choice> out(6);
  out[0].__set_number(7);
  out[1].__set_text("seven");
  out[2].__set_truth(true);
  out[3].__set_everything(g_interop_constants.EVERYTHING_MAX);
  out[4].__set_numbers({7});
  out[5].__set_real(7.5);
  return out;
}

inline Presence presence_least() {
  Presence out;
  out.__set_must(1);
  out.__set_plain(3);
  // The constructor gives an optional field its default without marking it as set.
  return out;
}

inline Presence presence_most() {
  Presence out;
  out.__set_must(0);
  out.__set_may(0);
  out.__set_plain(0);
  out.__set_must_default(0);
  out.__set_may_default(0);
  out.__set_plain_default("");
  out.__set_may_text("");
  out.__set_may_truth(false);
  out.__set_may_list({});
  out.__set_may_empty(Empty());
  out.__set_may_weight(shared::Weight::NONE);
  return out;
}

inline Key key(int32_t number, const std::string& word) {
  Key out;
  out.__set_number(number);
  out.__set_word(word);
  return out;
}

inline Keyed keyed() {
  Keyed out;
  out.__set_by_key({{key(1, "one"), "first"}, {key(2, "two"), "second"}});
  out.__set_keys({key(3, "three"), key(4, "")});
  return out;
}

inline Newer newer() {
  Newer out;
  out.__set_first(1);
  out.__set_truth(true);
  out.__set_tiny(3);
  out.__set_small(4);
  out.__set_medium(5);
  out.__set_large(6);
  out.__set_real(7.5);
  out.__set_text("eight");
  out.__set_everything(g_interop_constants.EVERYTHING_MAX);
  out.__set_truths({true, false});
  out.__set_many({{"one", {g_interop_constants.EVERYTHING_MIN}}});
  out.__set_numbers({12});
  out.__set_nothing({});
  Choice choice;
  choice.__set_number(14);
  out.__set_choice(choice);
  out.__set_last("end");
  return out;
}

/// A tree that deep, with a leaf beside each branch.
inline Tree chain(int depth) {
  Tree tree;
  tree.__set_value(0);
  tree.__set_children({});
  for (int level = 1; level < depth; ++level) {
    Tree leaf, parent;
    leaf.__set_value(-level);
    leaf.__set_children({});
    parent.__set_value(level);
    parent.__set_children({tree, leaf});
    tree = parent;
  }
  return tree;
}

}  // namespace values
