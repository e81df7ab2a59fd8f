" The colours of programs in Eve.
if exists('b:current_syntax')
  finish
endif

syntax keyword eveStatement import as pub type union const extern test finish on return break
syntax keyword eveStatement continue pass assert fail defer emit within
syntax keyword eveConditional if else match
syntax keyword eveRepeat while for in
syntax keyword eveConstant true false none
syntax keyword eveType int uint float bool char void string bytes duration error
syntax keyword eveType vector array map set slice emitter
syntax keyword eveSelf self

" After a dot any word is a name. A range has two dots.
syntax match eveRange /\.\./
syntax match eveMember /\.\@<!\.\h\w*/
syntax match eveFunction /^\s*\%(pub\s\+\)\?\zs\h\w*\ze:\s*[<(\[]/
syntax match eveNumber /\<\d[0-9_]*\%(ns\|us\|ms\|s\|m\|h\|d\|kib\|mib\|gib\)\?\>/
syntax match eveNumber /\<0x[0-9a-fA-F_]\+\>/
syntax match eveNumber /\<0b[01_]\+\>/
syntax match eveFloat /\<\d[0-9_]*\.\d[0-9_]*\%([eE][-+]\?\d\+\)\?/
syntax match eveFloat /\<\d[0-9_]*[eE][-+]\?\d\+/
syntax match eveTask /^\s*\zs@/

syntax match eveEscape /\\\%(x\x\{2}\|u{\x\+}\|.\)/ contained
syntax match eveBrace /{{\|}}/ contained
syntax region eveString start=/"/ end=/"\|$/ contains=eveEscape
syntax region eveCharacter start=/'/ end=/'\|$/ contains=eveEscape
syntax region eveFormat start=/\<f"/ end=/"\|$/ contains=eveEscape,eveBrace,eveValue
syntax region eveValue matchgroup=eveDelimiter start=/{/ end=/}\|$/ contained
  \ contains=eveString,eveCharacter,eveNumber,eveFloat,eveConstant,eveMember,eveSelf
syntax match eveTodo /\<\u\u\+\ze:/ contained
syntax match eveComment /#.*$/ contains=eveTodo,@Spell

highlight default link eveStatement Statement
highlight default link eveConditional Conditional
highlight default link eveRepeat Repeat
highlight default link eveConstant Boolean
highlight default link eveType Type
highlight default link eveSelf Identifier
highlight default link eveFunction Function
highlight default link eveNumber Number
highlight default link eveFloat Float
highlight default link eveTask Special
highlight default link eveString String
highlight default link eveFormat String
highlight default link eveCharacter Character
highlight default link eveEscape SpecialChar
highlight default link eveBrace SpecialChar
highlight default link eveDelimiter Delimiter
highlight default link eveTodo Todo
highlight default link eveComment Comment

let b:current_syntax = 'eve'
