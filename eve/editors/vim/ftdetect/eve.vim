autocmd BufRead,BufNewFile *.eve setfiletype eve
