" Settings for programs in Eve, and in Neovim the start of the language server.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal expandtab shiftwidth=4 softtabstop=4 autoindent
setlocal comments=:# commentstring=#\ %s
setlocal formatoptions-=t formatoptions+=croql
setlocal suffixesadd=.eve
let b:undo_ftplugin = 'setlocal expandtab< shiftwidth< softtabstop< autoindent< comments<'
  \ . ' commentstring< formatoptions< suffixesadd<'

" Where the tree-sitter parser is installed, Neovim 0.9 or newer colours by it instead of by syntax/.
if has('nvim-0.9') && get(g:, 'eve_treesitter', 1)
  lua require('eve').colour()
endif

" let g:eve_lsp = 0 leaves the language server out; g:eve_path names the program.
if has('nvim') && get(g:, 'eve_lsp', 1)
  lua require('eve').start()
endif
