; Scopes, and the names that are declared and used in them.
[
  (module)
  (function_declaration)
  (extern_function)
  (type_declaration)
  (union_declaration)
  (test_declaration)
  (block)
  (lambda)
  (for_statement)
  (for_in_statement)
  (task_for_statement)
  (match_arm)
] @local.scope

(function_declaration
  name: (identifier) @local.definition.function
  (#set! definition.function.scope "parent"))

(extern_function
  name: (identifier) @local.definition.function
  (#set! definition.function.scope "parent"))

(type_declaration
  name: (type_identifier) @local.definition.type
  (#set! definition.type.scope "parent"))

(union_declaration
  name: (type_identifier) @local.definition.type
  (#set! definition.type.scope "parent"))

(type_body
  (variable_declaration
    name: (identifier) @local.definition.field))

(type_parameter
  name: (type_identifier) @local.definition.type)

(module
  (variable_declaration
    name: (identifier) @local.definition.var))

(block
  (variable_declaration
    name: (identifier) @local.definition.var))

(for_statement
  init: (variable_declaration
    name: (identifier) @local.definition.var))

(for_in_statement
  variable: (identifier) @local.definition.var)

(task_for_statement
  variable: (identifier) @local.definition.var)

(await_statement
  name: (identifier) @local.definition.var)

(const_declaration
  name: (identifier) @local.definition.constant)

(parameter
  name: (identifier) @local.definition.parameter)

(case_pattern
  name: (identifier) @local.definition.var)

(import_declaration
  alias: (identifier) @local.definition.import)

(identifier) @local.reference

(type_identifier) @local.reference
