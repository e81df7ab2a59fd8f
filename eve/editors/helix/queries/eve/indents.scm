; The indentation of the next line. A line that ends in a colon opens a block.
[
  (function_declaration)
  (type_declaration)
  (union_declaration)
  (extern_declaration)
  (test_declaration)
  (if_statement)
  (else_clause)
  (while_statement)
  (for_statement)
  (for_in_statement)
  (match_statement)
  (match_arm)
  (task_statement)
  (task_for_statement)
  (on_statement)
  (defer_statement)
  (lambda)
  (callbacks)
  (arguments)
  (list)
  (parameters)
  (permission_list)
] @indent

; A line behind a block belongs to it while it is as deep.
[
  (function_declaration)
  (type_declaration)
  (union_declaration)
  (extern_declaration)
  (test_declaration)
  (if_statement)
  (else_clause)
  (while_statement)
  (for_statement)
  (for_in_statement)
  (match_statement)
  (match_arm)
  (task_statement)
  (task_for_statement)
  (on_statement)
  (defer_statement)
  (lambda)
  (callbacks)
] @extend

[
  (break_statement)
  (continue_statement)
  (fail_statement)
  (return_statement)
] @extend.prevent-once

[
  ")"
  "]"
] @outdent

(else_clause
  "else" @outdent)
