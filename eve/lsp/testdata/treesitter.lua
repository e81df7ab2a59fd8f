-- Parses the buffer by tree-sitter, and writes the names and the texts of its highlights. Reads the
-- queries of Helix as well: those in the folder g:helix.
local query = vim.treesitter.query
local get = query.get or query.get_query -- before 0.9
local parse = query.parse or query.parse_query
local text_of = vim.treesitter.get_node_text or query.get_node_text

local function steps()
  local root = vim.treesitter.get_parser(0, 'eve'):parse()[1]:root()
  io.stdout:write(root:type(), root:has_error() and ' with an error\n' or '\n')
  if vim.fn.has('nvim-0.9') == 1 and not vim.treesitter.highlighter.active[vim.fn.bufnr()] then
    error('the buffer is not coloured by tree-sitter')
  end
  for _, name in ipairs({ 'locals', 'folds', 'indents', 'injections', 'highlights' }) do
    local found = assert(get('eve', name), 'there is no query ' .. name)
    local any = false
    for id, node in found:iter_captures(root, 0, 0, vim.fn.line('$')) do
      any = true
      if name == 'highlights' then
        io.stdout:write(found.captures[id], ' ', text_of(node, 0), '\n')
      end
    end
    if not any then
      error(name .. '.scm finds nothing')
    end
  end
  local files = vim.fn.glob(vim.g.helix .. '/*.scm', false, true)
  for _, file in ipairs(files) do
    parse('eve', table.concat(vim.fn.readfile(file), '\n'))
  end
  io.stdout:write(#files, ' queries of Helix\n')
end

local ok, why = pcall(steps)
if not ok then
  io.stderr:write(why .. '\n')
  vim.cmd('cquit')
end
vim.cmd('qall!')
