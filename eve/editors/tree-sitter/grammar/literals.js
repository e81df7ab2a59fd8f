// Literals.
module.exports = {
  _literal: ($) =>
    choice($.integer, $.float, $.duration, $.character, $.string),

  integer: () =>
    token(
      choice(/0x[0-9a-fA-F_]+/, /0b[01_]+/, /[0-9]+(_[0-9]+)*(kib|mib|gib)?/),
    ),

  float: () =>
    token(
      choice(
        /[0-9]+(_[0-9]+)*\.[0-9]+(_[0-9]+)*([eE][+-]?[0-9]+)?/,
        /[0-9]+(_[0-9]+)*[eE][+-]?[0-9]+/,
      ),
    ),

  duration: () => token(/[0-9]+(_[0-9]+)*(ns|us|ms|s|m|h|d)/),

  // The 0 of t.0.1.
  element_index: () => token(/[0-9]+/),

  boolean: () => choice("true", "false"),

  none: () => "none",

  // One byte.
  character: ($) =>
    seq(
      "'",
      choice($.escape_sequence, alias($._character_content, $.string_content)),
      token.immediate("'"),
    ),

  _character_content: () =>
    token.immediate(prec(1, /[\x01-\x09\x0b-\x26\x28-\x5b\x5d-\x7f]/)),

  string: ($) =>
    seq(
      '"',
      repeat(choice($.string_content, $.escape_sequence)),
      token.immediate('"'),
    ),

  string_content: () => token.immediate(prec(1, /[^"\\\n]+/)),

  escape_sequence: () =>
    token.immediate(/\\([ntr0\\"']|x[0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\})/),

  format_string: ($) =>
    seq(
      'f"',
      repeat(
        choice(
          alias($._format_content, $.string_content),
          $.escape_sequence,
          alias($._brace, $.escape_sequence),
          $.interpolation,
        ),
      ),
      token.immediate('"'),
    ),

  _format_content: () => token.immediate(prec(1, /[^"\\\n{}]+/)),

  _brace: () => token.immediate(choice("{{", "}}")),

  interpolation: ($) =>
    seq(
      token.immediate("{"),
      field("value", $._value),
      optional(seq(":", optional(field("format", $.format_spec)))),
      "}",
    ),

  format_spec: () => token.immediate(prec(1, /[^}"\n]+/)),
};
