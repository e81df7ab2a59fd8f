// Parts that rules of several files are made of.

// The precedence of the operators in front of an operand. Those between two
// have 1 to 11, and ** has more.
const UNARY = 12;

// The lines of a block. Their ends are tokens of the scanner.
const lines = ($, line) => seq(line, repeat(seq($._newline, line)));

// One or more, separated by commas.
const list = (element) => seq(element, repeat(seq(",", element)));

// Any number, separated by commas, of which one may be behind the last.
const elements = (element) => optional(seq(list(element), optional(",")));

const unary = (operand) =>
  prec(
    UNARY,
    seq(field("operator", choice("-", "!", "~")), field("operand", operand)),
  );

// An identifier, or one of some keywords that can be names here.
const named = ($, ...keywords) =>
  choice($.identifier, ...keywords.map((k) => alias(k, $.identifier)));

// Variables or fields, from their names on.
const variables = ($, name, comma) =>
  seq(
    field("name", name),
    repeat(seq(comma, field("name", name))),
    ":",
    field("type", $._type),
    optional(field("arguments", $.arguments)),
    optional(seq("=", field("value", $._initialiser))),
  );

module.exports = { UNARY, elements, lines, list, named, unary, variables };
