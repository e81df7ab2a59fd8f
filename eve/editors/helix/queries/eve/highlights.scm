; The colours of programs in Eve, with Helix's names of captures. Helix took the first pattern that
; fits a node before 25.07, and takes the last one since then. So no two patterns give a node
; different colours.

(comment) @comment

; Keywords
[
  "as"
  "import"
] @keyword.control.import

[
  "const"
  "defer"
  "emit"
  "emitter"
  "extern"
  "fast"
  "on"
  "par"
  "slow"
  "test"
  "within"
  (pass_statement)
] @keyword

[
  "type"
  "union"
] @keyword.storage.type

"pub" @keyword.storage.modifier

[
  "finish"
  "<-"
] @keyword.control

(task_statement
  "@" @keyword.control)

(task_for_statement
  "@" @keyword.control)

[
  "else"
  "if"
  "match"
] @keyword.control.conditional

[
  "for"
  "in"
  "while"
  (break_statement)
  (continue_statement)
] @keyword.control.repeat

"return" @keyword.control.return

[
  "assert"
  "fail"
] @keyword.control.exception

; Literals
[
  (integer)
  (duration)
] @constant.numeric.integer

(float) @constant.numeric.float

(boolean) @constant.builtin.boolean

(none) @constant.builtin

(string) @string

(format_string
  [
    "f\""
    "\""
    (string_content)
  ] @string)

(format_spec) @string.special

(character) @constant.character

(escape_sequence) @constant.character.escape

(interpolation
  [
    "{"
    "}"
  ] @punctuation.special)

; Types
((type_identifier) @type
  (#not-any-of? @type
    "array" "bool" "bytes" "char" "duration" "error" "float" "int" "map" "set" "slice" "string"
    "uint" "vector" "void"))

((type_identifier) @type.builtin
  (#any-of? @type.builtin
    "array" "bool" "bytes" "char" "duration" "error" "float" "int" "map" "set" "slice" "string"
    "uint" "vector" "void"))

(named_type
  module: (identifier) @namespace)

; Modules
(import_declaration
  path: (identifier) @namespace)

(import_declaration
  alias: (identifier) @namespace)

; Declarations
(module
  (function_declaration
    name: (identifier) @function))

(type_body
  (function_declaration
    name: (identifier) @function.method))

(extern_function
  name: (identifier) @function)

(type_body
  (variable_declaration
    name: (identifier) @variable.other.member))

(module
  (variable_declaration
    name: (identifier) @variable))

(block
  (variable_declaration
    name: (identifier) @variable))

(const_declaration
  name: (identifier) @constant)

(union_case
  name: (identifier) @type.enum.variant)

((parameter
  name: (identifier) @variable.parameter)
  (#not-eq? @variable.parameter "self"))

((parameter
  name: (identifier) @variable.builtin)
  (#eq? @variable.builtin "self"))

(permission
  name: (identifier) @variable)

; Statements
(on_statement
  event: (identifier) @label)

(emit_statement
  event: (identifier) @label)

(await_statement
  name: (identifier) @variable)

(case_pattern
  path: (identifier) @type.enum.variant)

(case_pattern
  name: (identifier) @variable)

(wildcard_pattern
  "_" @variable.builtin)

; Expressions
(call_expression
  function: (identifier) @function)

(call_expression
  function: (selector_expression
    field: (identifier) @function.method))

(call_expression
  function: (type_expression
    name: (identifier) @function))

(selector_expression
  operand: (identifier) @variable)

(named_argument
  name: (identifier) @variable.parameter)

; Operators and punctuation
[
  "!"
  "!="
  "%"
  "%="
  "&"
  "&&"
  "&="
  "*"
  "*%"
  "*%="
  "**"
  "**="
  "*="
  "+"
  "+%"
  "+%="
  "+="
  "-"
  "-%"
  "-%="
  "-="
  ".."
  "/"
  "/="
  "<<"
  "<<="
  "<="
  "="
  "=="
  ">="
  ">>"
  ">>="
  "?"
  "^"
  "^="
  "|"
  "|="
  "||"
  "~"
] @operator

(binary_expression
  operator: [
    "<"
    ">"
  ] @operator)

(suffixed_type
  suffix: "@" @operator)

[
  "("
  ")"
  "["
  "]"
] @punctuation.bracket

(type_arguments
  [
    "<"
    ">"
  ] @punctuation.bracket)

(type_parameters
  [
    "<"
    ">"
  ] @punctuation.bracket)

(function_type
  [
    "<"
    ">"
  ] @punctuation.bracket)

[
  ","
  "."
  ":"
  ";"
] @punctuation.delimiter
