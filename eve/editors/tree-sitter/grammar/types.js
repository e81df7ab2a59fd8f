// Types.
const { elements, list } = require("./common");

module.exports = {
  _type: ($) =>
    choice($.named_type, $.suffixed_type, $.function_type, $.tuple_type),

  named_type: ($) =>
    seq(
      repeat(seq(field("module", $.identifier), ".")),
      field("name", alias($.identifier, $.type_identifier)),
      optional(field("arguments", $.type_arguments)),
    ),

  suffixed_type: ($) =>
    seq(field("type", $._type), field("suffix", choice("@", "&", "?", "!"))),

  function_type: ($) =>
    seq(
      "<",
      "(",
      elements(field("parameter", $._type)),
      ")",
      optional(field("result", $._type)),
      ">",
      optional("par"),
    ),

  tuple_type: ($) => seq("(", elements($._type), ")"),

  type_arguments: ($) => seq("<", $._type_arguments, ">"),

  // Those in an expression: the scanner has seen that they are no
  // comparison.
  _type_arguments_ahead: ($) =>
    seq(alias($._types_ahead, "<"), $._type_arguments, ">"),

  _type_arguments: ($) => list(choice($._type, $._size)),

  // A number as a type's argument, as in array<int, 4 * 2>.
  _size: ($) =>
    choice($.integer, alias($._size_expression, $.binary_expression)),

  _size_expression: ($) =>
    choice(
      prec.left(
        1,
        seq(
          field("left", $._size),
          field("operator", choice("+", "-")),
          field("right", choice($._size, $.identifier)),
        ),
      ),
      prec.left(
        2,
        seq(
          field("left", $._size),
          field("operator", "*"),
          field("right", choice($._size, $.identifier)),
        ),
      ),
    ),
};
