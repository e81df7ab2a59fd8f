// The grammar of Eve for tree-sitter. The parser in eve/syntax defines the
// language: its tests compare both trees of every program in this repository.
// src/scanner.c has the tokens that depend on the layout of lines, and those
// that need a look ahead.
const { lines } = require("./grammar/common");

module.exports = grammar({
  name: "eve",

  word: ($) => $.identifier,

  // _blank never comes. It makes the scanner see the text of every token, so
  // that no line ends unnoticed.
  extras: ($) => [/[ \t\r\n]/, $.comment, $._blank],

  // The order is that of enum token in src/scanner.c.
  externals: ($) => [
    $._newline,
    $._indent,
    $._dedent,
    $._else_line,
    $._task_line,
    $._line_comma,
    ",",
    $._list_ahead,
    "[",
    "]",
    "(",
    ")",
    $._types_ahead,
    "import",
    $._blank,
    $._stray,
    $._recovering,
  ],

  rules: {
    module: ($) =>
      seq(optional($._newline), optional(lines($, $._declaration))),

    comment: () => token(/#([^\r\n]|\r+[^\r\n])*/),

    identifier: () => /[A-Za-z_][A-Za-z0-9_]*/,

    ...require("./grammar/declarations"),
    ...require("./grammar/types"),
    ...require("./grammar/statements"),
    ...require("./grammar/expressions"),
    ...require("./grammar/literals"),
  },
});
