// Modules and their declarations.
const { elements, lines, list, named, variables } = require("./common");

// A function, from its name on.
const func = ($, name) =>
  seq(
    optional("pub"),
    field("name", name),
    ":",
    $._signature,
    optional($._suite),
  );

module.exports = {
  _declaration: ($) =>
    choice(
      $.import_declaration,
      $.function_declaration,
      $.variable_declaration,
      $.type_declaration,
      $.union_declaration,
      $.const_declaration,
      $.extern_declaration,
      $.test_declaration,
    ),

  // The name of a function or variable of a module. These keywords can be
  // names where their declaration cannot begin.
  _declared_name: ($) => named($, "test", "extern", "union"),

  import_declaration: ($) =>
    seq(
      "import",
      field("path", $.identifier),
      repeat(seq(".", field("path", $.identifier))),
      optional(seq(".", "*")),
      optional(seq("as", field("alias", $.identifier))),
    ),

  function_declaration: ($) => func($, $._declared_name),

  _signature: ($) =>
    seq(
      optional(field("type_parameters", $.type_parameters)),
      optional(field("permissions", $.permission_list)),
      field("parameters", $.parameters),
      optional(
        choice(field("result", $._type), seq("<-", field("result", $._type))),
      ),
    ),

  variable_declaration: ($) =>
    seq(optional("pub"), variables($, $._declared_name, ",")),

  const_declaration: ($) =>
    seq(
      optional("pub"),
      "const",
      field("name", $.identifier),
      optional(seq(":", optional(field("type", $._type)))),
      "=",
      field("value", $._initialiser),
    ),

  type_declaration: ($) =>
    seq(
      optional("pub"),
      "type",
      field("name", alias($.identifier, $.type_identifier)),
      optional(
        field(
          "type_parameters",
          alias($._bare_type_parameters, $.type_parameters),
        ),
      ),
      ":",
      optional(seq("emitter", field("events", $.type_arguments))),
      optional(seq($._indent, field("body", $.type_body))),
    ),

  type_body: ($) => seq(lines($, $._member), $._dedent),

  _member: ($) =>
    choice(
      alias($._method, $.function_declaration),
      alias($._field, $.variable_declaration),
      $.pass_statement,
    ),

  // Any word: it is behind a dot wherever it is used.
  _member_name: ($) => named($, "pub", "pass"),

  _method: ($) => func($, $._member_name),

  _field: ($) => seq(optional("pub"), variables($, $._member_name, ",")),

  union_declaration: ($) =>
    seq(
      optional("pub"),
      "union",
      field("name", alias($.identifier, $.type_identifier)),
      optional(
        field(
          "type_parameters",
          alias($._bare_type_parameters, $.type_parameters),
        ),
      ),
      ":",
      $._indent,
      field("body", $.union_body),
    ),

  union_body: ($) => seq(lines($, $.union_case), $._dedent),

  union_case: ($) =>
    seq(field("name", $.identifier), optional(field("fields", $.parameters))),

  extern_declaration: ($) =>
    seq(
      "extern",
      field("language", $.string),
      field("header", $.string),
      ":",
      optional(seq($._indent, field("body", $.extern_body))),
    ),

  extern_body: ($) => seq(lines($, $.extern_function), $._dedent),

  extern_function: ($) =>
    seq(
      field("speed", choice("fast", "slow")),
      field("name", $.identifier),
      ":",
      $._signature,
    ),

  test_declaration: ($) =>
    seq(
      "test",
      field("name", $.string),
      optional(field("permissions", $.permission_list)),
      $._suite,
    ),

  type_parameters: ($) => seq("<", list($.type_parameter), ">"),

  type_parameter: ($) => seq("type", $._type_parameter),

  _bare_type_parameters: ($) =>
    seq("<", list(alias($._bare_type_parameter, $.type_parameter)), ">"),

  _bare_type_parameter: ($) => seq(optional("type"), $._type_parameter),

  _type_parameter: ($) =>
    seq(
      field("name", alias($.identifier, $.type_identifier)),
      optional(seq(":", field("constraint", $._type))),
    ),

  // An empty pair behind the name of a declaration is no empty tuple.
  parameters: ($) => prec(1, seq("(", elements($.parameter), ")")),

  parameter: ($) =>
    seq(
      optional("="),
      choice(
        seq(field("name", $.identifier), ":", field("type", $._type)),
        seq(
          field("name", alias("self", $.identifier)),
          optional(seq(":", field("type", $._type))),
        ),
      ),
      optional(seq("=", field("default", $._expression))),
    ),

  permission_list: ($) => seq("[", elements($.permission), "]"),

  permission: ($) =>
    seq(
      optional(field("sign", choice("+", "-", "=", "&"))),
      field("name", $.identifier),
    ),
};
