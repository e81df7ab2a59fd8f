; The indentation of the next line, for nvim-treesitter. A line that ends in a colon opens a block.
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
] @indent.begin

[
  (arguments)
  (list)
  (parameters)
  (permission_list)
] @indent.begin

[
  ")"
  "]"
  (else_clause)
] @indent.branch

(comment) @indent.auto

(ERROR) @indent.auto
