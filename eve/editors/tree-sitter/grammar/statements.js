// Blocks and statements.
const { elements, lines, unary, variables } = require("./common");

const ASSIGNMENTS = [
  "=",
  "+=",
  "-=",
  "*=",
  "/=",
  "%=",
  "&=",
  "|=",
  "^=",
  "<<=",
  ">>=",
  "**=",
  "+%=",
  "-%=",
  "*%=",
];

// The part in the parentheses of a loop over elements.
const each = ($) =>
  seq(
    "(",
    field("variable", $._name),
    optional(seq(":", field("type", $._type))),
    "in",
    field("range", $._expression),
    ")",
  );

module.exports = {
  _suite: ($) => choice($._block_suite, $._inline_suite),

  _block_suite: ($) => seq(":", $._indent, field("body", $.block)),

  _inline_suite: ($) => seq(":", field("body", alias($.inline_block, $.block))),

  block: ($) => seq(lines($, $._statement), $._dedent),

  inline_block: ($) => $._inline_statement,

  _statement: ($) => choice($.if_statement, $._plain_statement),

  // A statement behind a colon. An `if` there has no `else` in the next
  // line, which belongs to the statement around it.
  _inline_statement: ($) =>
    choice(alias($.inline_if, $.if_statement), $._plain_statement),

  _plain_statement: ($) =>
    choice(
      alias($._local_variable, $.variable_declaration),
      $.expression_statement,
      $.assignment,
      $.while_statement,
      $.for_statement,
      $.for_in_statement,
      $.match_statement,
      $.task_statement,
      $.task_for_statement,
      $.finish_statement,
      $.on_statement,
      $.await_statement,
      $.return_statement,
      $.break_statement,
      $.continue_statement,
      $.pass_statement,
      $.assert_statement,
      $.fail_statement,
      $.defer_statement,
      $.emit_statement,
    ),

  _local_variable: ($) => variables($, $._name, alias($._line_comma, ",")),

  expression_statement: ($) => $._initialiser,

  assignment: ($) =>
    seq(
      field("left", $._operand),
      field("operator", choice(...ASSIGNMENTS)),
      field("right", $._initialiser),
    ),

  if_statement: ($) =>
    prec.right(
      seq(
        "if",
        field("condition", $._value),
        $._suite,
        optional(seq($._else_line, field("else", $.else_clause))),
      ),
    ),

  else_clause: ($) => seq("else", choice($.if_statement, $._suite)),

  inline_if: ($) =>
    prec.right(
      seq(
        "if",
        field("condition", $._value),
        choice(
          $._inline_suite,
          seq(
            $._block_suite,
            optional(
              seq(
                $._else_line,
                field("else", alias($.inline_else, $.else_clause)),
              ),
            ),
          ),
        ),
      ),
    ),

  inline_else: ($) =>
    seq("else", choice(alias($.inline_if, $.if_statement), $._suite)),

  while_statement: ($) => seq("while", field("condition", $._value), $._suite),

  for_in_statement: ($) => seq("for", each($), $._suite),

  for_statement: ($) =>
    seq(
      "for",
      "(",
      optional(field("init", $._loop_part)),
      ";",
      optional(field("condition", $._value)),
      ";",
      optional(field("step", choice($.assignment, $.expression_statement))),
      ")",
      $._suite,
    ),

  _loop_part: ($) =>
    choice(
      alias($._loop_variable, $.variable_declaration),
      $.assignment,
      $.expression_statement,
    ),

  _loop_variable: ($) =>
    seq(
      field("name", $._name),
      ":",
      field("type", $._type),
      optional(seq("=", field("value", $._expression))),
    ),

  match_statement: ($) =>
    seq(
      "match",
      field("value", $._value),
      ":",
      $._indent,
      field("body", $.match_body),
    ),

  match_body: ($) => seq(lines($, $.match_arm), $._dedent),

  match_arm: ($) => seq(field("pattern", $._pattern), $._suite),

  _pattern: ($) =>
    choice($.wildcard_pattern, $.case_pattern, $.literal_pattern),

  wildcard_pattern: () => choice("else", "_"),

  case_pattern: ($) =>
    choice(
      $.none,
      seq(
        field("path", $.identifier),
        repeat(seq(".", field("path", $.identifier))),
        optional(seq("(", elements(field("name", $.identifier)), ")")),
      ),
    ),

  literal_pattern: ($) =>
    choice($._literal, $.boolean, alias($._signed_literal, $.unary_expression)),

  _signed_literal: ($) => unary($._literal),

  task_statement: ($) =>
    seq("@", optional(field("permissions", $.permission_list)), $._suite),

  task_for_statement: ($) =>
    seq(
      "@",
      "for",
      each($),
      optional(field("permissions", $.permission_list)),
      $._suite,
    ),

  // Without a suite it has the tasks in the lines below.
  finish_statement: ($) =>
    prec.right(
      seq(
        "finish",
        choice(
          $._suite,
          seq(
            ":",
            repeat1(
              seq(
                $._task_line,
                field("task", choice($.task_statement, $.task_for_statement)),
              ),
            ),
          ),
        ),
      ),
    ),

  on_statement: ($) =>
    seq(
      "on",
      field("emitter", $._postfix),
      field("event", $.identifier),
      choice(
        seq(optional(field("permissions", $.permission_list)), $._suite),
        seq("=", field("handler", $.lambda)),
      ),
    ),

  await_statement: ($) =>
    seq(
      optional(field("name", $._name)),
      "<-",
      field("call", $._await),
      optional(seq("within", field("within", $._limit))),
      optional(field("permissions", $.permission_list)),
    ),

  return_statement: ($) =>
    seq("return", optional(field("value", $._initialiser))),

  break_statement: () => "break",

  continue_statement: () => "continue",

  pass_statement: () => "pass",

  assert_statement: ($) =>
    seq(
      "assert",
      field("condition", $._value),
      optional(seq(alias($._line_comma, ","), field("message", $._expression))),
    ),

  fail_statement: ($) => seq("fail", field("error", $._expression)),

  defer_statement: ($) =>
    seq(
      "defer",
      choice($._suite, field("body", alias($.inline_block, $.block))),
    ),

  emit_statement: ($) =>
    seq(
      "emit",
      field("event", $.identifier),
      optional(field("arguments", $.arguments)),
    ),
};
