// Expressions.
const { UNARY, elements, lines, named, unary } = require("./common");

// The binary operators from the loosest to the tightest. A line of the table
// is a precedence, and all of them group to the left.
const OPERATORS = [
  "||",
  "&&",
  "|",
  "^",
  "&",
  choice("==", "!="),
  choice("<", "<=", ">", ">="),
  "..",
  choice("<<", ">>"),
  choice("+", "-", "+%", "-%"),
  choice("*", "/", "%", "*%"),
];

const POWER = UNARY + 1;

const call = ($, operand) =>
  seq(field("function", operand), field("arguments", $.arguments));

const selector = ($, operand) =>
  seq(
    field("operand", operand),
    ".",
    field("field", choice($.identifier, $.element_index)),
  );

const index = ($, operand) =>
  seq(field("operand", operand), "[", field("index", $._expression), "]");

const typed = ($, selector) =>
  seq(
    field("name", choice($._name, selector)),
    field("arguments", alias($._type_arguments_ahead, $.type_arguments)),
  );

const binary = (operand) =>
  choice(
    ...OPERATORS.map((operator, i) =>
      prec.left(
        i + 1,
        seq(
          field("left", operand),
          field("operator", operator),
          field("right", operand),
        ),
      ),
    ),
    prec.right(
      POWER,
      seq(
        field("left", operand),
        field("operator", "**"),
        field("right", operand),
      ),
    ),
  );

// Rules for an operand behind which a [ may begin a permission list. With
// `indexed` it does so only behind a call, otherwise everywhere.
const listed = (operand, indexed) => {
  const name = (part) => `${operand}_${part}`;
  const rules = {
    [operand]: ($) =>
      choice($[name("value")], alias($[name("call")], $.call_expression)),
    [name("value")]: ($) =>
      choice(
        $._primary,
        alias($[name("selector")], $.selector_expression),
        alias($[name("propagate")], $.propagate_expression),
        alias($[name("type")], $.type_expression),
        ...(indexed ? [alias($[name("index")], $.index_expression)] : []),
      ),
    [name("call")]: ($) => call($, $[operand]),
    [name("selector")]: ($) => selector($, $[operand]),
    [name("propagate")]: ($) => seq(field("operand", $[operand]), "?"),
    [name("type")]: ($) =>
      typed($, alias($[name("selector")], $.selector_expression)),
  };
  if (indexed) {
    rules[name("index")] = ($) => prec(1, index($, $[name("value")]));
  }
  return rules;
};

module.exports = {
  // An expression, or a call at the end of a line with callbacks below it.
  _initialiser: ($) =>
    choice($._expression, alias($._callback_call, $.call_expression)),

  _expression: ($) =>
    choice($._value, $.lambda, alias($._else_lambda, $.else_expression)),

  // An expression that cannot end in a lambda. A colon may follow it.
  _value: ($) => choice($._operand, $.else_expression),

  else_expression: ($) =>
    seq(field("value", $._operand), "else", field("default", $._value)),

  _else_lambda: ($) =>
    seq(
      field("value", $._operand),
      "else",
      field(
        "default",
        choice($.lambda, alias($._else_lambda, $.else_expression)),
      ),
    ),

  _operand: ($) => choice($._postfix, $.unary_expression, $.binary_expression),

  unary_expression: ($) => unary($._operand),

  binary_expression: ($) => binary($._operand),

  _postfix: ($) =>
    choice(
      $._primary,
      $.call_expression,
      $.selector_expression,
      $.index_expression,
      $.propagate_expression,
      $.type_expression,
    ),

  call_expression: ($) => call($, $._postfix),

  selector_expression: ($) => selector($, $._postfix),

  index_expression: ($) => index($, $._postfix),

  propagate_expression: ($) => seq(field("operand", $._postfix), "?"),

  type_expression: ($) => typed($, $.selector_expression),

  ...listed("_await", true),

  // The time of `within`.
  ...listed("_limit_operand", false),

  _limit: ($) =>
    choice(
      $._limit_operand,
      alias($._limit_unary, $.unary_expression),
      alias($._limit_binary, $.binary_expression),
    ),

  _limit_unary: ($) => unary($._limit),

  _limit_binary: ($) => binary($._limit),

  _callback_call: ($) =>
    seq(call($, $._postfix), ":", $._indent, field("callbacks", $.callbacks)),

  callbacks: ($) =>
    seq(lines($, alias($._callback, $.named_argument)), $._dedent),

  _callback: ($) =>
    seq(field("name", $.identifier), "=", field("value", $._initialiser)),

  arguments: ($) =>
    seq("(", elements(choice($._expression, $.named_argument)), ")"),

  named_argument: ($) =>
    seq(field("name", $._name), "=", field("value", $._expression)),

  lambda: ($) =>
    seq(
      optional(field("permissions", alias($._lambda_list, $.permission_list))),
      field("parameters", alias($._lambda_parameters, $.parameters)),
      optional(field("result", $._type)),
      $._suite,
    ),

  // The scanner has seen that parameters follow, so it is no list literal.
  _lambda_list: ($) =>
    seq(alias($._list_ahead, "["), elements($.permission), "]"),

  _lambda_parameters: ($) =>
    seq("(", elements(alias($._lambda_parameter, $.parameter)), ")"),

  _lambda_parameter: ($) =>
    seq(
      optional("="),
      field("name", $._name),
      ":",
      field("type", $._type),
      optional(seq("=", field("default", $._expression))),
    ),

  _primary: ($) =>
    choice(
      $._name,
      $._literal,
      $.boolean,
      $.none,
      $.format_string,
      $.list,
      $.tuple,
      $.parenthesized_expression,
    ),

  // A name in an expression or at the start of a statement, where `emit`
  // can be one.
  _name: ($) => named($, "emit"),

  parenthesized_expression: ($) => seq("(", $._expression, ")"),

  tuple: ($) => seq("(", $._expression, ",", elements($._expression), ")"),

  list: ($) => seq("[", elements($._expression), "]"),
};
