; Scopes, and the parameters that are used in them.
[
  (function_declaration)
  (lambda)
] @local.scope

(parameter
  name: (identifier) @local.definition.variable.parameter)

(identifier) @local.reference
