; What mi and ma select.
(function_declaration
  body: (block) @function.inside) @function.around

(lambda
  body: (block) @function.inside) @function.around

(type_declaration
  body: (type_body) @class.inside) @class.around

(union_declaration
  body: (union_body) @class.inside) @class.around

(test_declaration
  body: (block) @test.inside) @test.around

(parameters
  (parameter) @parameter.inside @parameter.around)

(arguments
  (_) @parameter.inside @parameter.around)

(comment) @comment.inside

(comment)+ @comment.around
