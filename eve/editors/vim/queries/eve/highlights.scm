; The colours of programs in Eve, with the names of captures that Neovim has since 0.10. Of the
; patterns that fit a node the last one counts.

(comment) @comment @spell

; Keywords
[
  "as"
  "import"
] @keyword.import

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
] @keyword.type

"pub" @keyword.modifier

[
  "finish"
  "<-"
] @keyword.coroutine

(task_statement
  "@" @keyword.coroutine)

(task_for_statement
  "@" @keyword.coroutine)

[
  "else"
  "if"
  "match"
] @keyword.conditional

[
  "for"
  "in"
  "while"
  (break_statement)
  (continue_statement)
] @keyword.repeat

"return" @keyword.return

[
  "assert"
  "fail"
] @keyword.exception

; Literals
(integer) @number

(duration) @number

(float) @number.float

(boolean) @boolean

(none) @constant.builtin

(string) @string

(format_string
  [
    "f\""
    "\""
    (string_content)
  ] @string)

(format_spec) @string.special

(character) @character

(escape_sequence) @string.escape

(interpolation
  [
    "{"
    "}"
  ] @punctuation.special)

; Types
(type_identifier) @type

((type_identifier) @type.builtin
  (#any-of? @type.builtin
    "array" "bool" "bytes" "char" "duration" "error" "float" "int" "map" "set" "slice" "string"
    "uint" "vector" "void"))

(named_type
  module: (identifier) @module)

; Modules
(import_declaration
  path: (identifier) @module)

(import_declaration
  alias: (identifier) @module)

; Declarations
(function_declaration
  name: (identifier) @function)

(type_body
  (function_declaration
    name: (identifier) @function.method))

(extern_function
  name: (identifier) @function)

(type_body
  (variable_declaration
    name: (identifier) @variable.member))

(module
  (variable_declaration
    name: (identifier) @variable))

(block
  (variable_declaration
    name: (identifier) @variable))

(const_declaration
  name: (identifier) @constant)

(union_case
  name: (identifier) @constructor)

(parameter
  name: (identifier) @variable.parameter)

; Permissions
(permission
  name: (identifier) @variable)

; Statements
(on_statement
  event: (identifier) @property)

(emit_statement
  event: (identifier) @property)

(await_statement
  name: (identifier) @variable)

(case_pattern
  path: (identifier) @constructor)

(case_pattern
  name: (identifier) @variable)

(wildcard_pattern
  "_" @character.special)

; Expressions
(selector_expression
  field: [
    (identifier)
    (element_index)
  ] @variable.member)

(call_expression
  function: (identifier) @function.call)

(call_expression
  function: (selector_expression
    field: (identifier) @function.method.call))

(call_expression
  function: (type_expression
    name: (identifier) @function.call))

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

(suffixed_type
  suffix: _ @operator)

[
  ","
  "."
  ":"
  ";"
] @punctuation.delimiter

; The words of the language itself
((identifier) @variable.builtin
  (#any-of? @variable.builtin "answer" "self"))
