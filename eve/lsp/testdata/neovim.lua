-- Plays a session of an editor, and writes the buffer as it is at the end of each step.
local function wait(what, ready)
  if not vim.wait(120000, ready, 10) then
    io.stderr:write('gave up: ' .. what .. '\n')
    vim.cmd('cquit')
  end
end

local function show(title)
  io.stdout:write('== ' .. title .. '\n')
  io.stdout:write(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') .. '\n')
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 120000)
  for _, answer in pairs(answers or {}) do
    if answer.error then
      error(method .. ': ' .. answer.error.message)
    end
    return answer.result
  end
  error(method .. ': no answer')
end

local function colour(line, column)
  return vim.fn.synIDattr(vim.fn.synID(line, column, 1), 'name')
end

local function steps()
  io.stdout:write(colour(1, 1), ' ', colour(2, 9), ' ', colour(3, 9), '\n')
  wait('the diagnostics', function()
    return #vim.diagnostic.get(0) > 0
  end)
  for _, d in ipairs(vim.diagnostic.get(0)) do
    io.stdout:write(string.format('%d:%d %s\n', d.lnum, d.col, vim.split(d.message, '\n')[1]))
  end

  local range = vim.lsp.util.make_given_range_params({ 3, 0 }, { 3, 20 }, 0, 'utf-16')
  range.context = { diagnostics = {} }
  local action = ask('textDocument/codeAction', range)[1]
  vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
  show(action.title)
  wait('no diagnostics', function()
    return #vim.diagnostic.get(0) == 0
  end)

  vim.api.nvim_win_set_cursor(0, { 2, 3 })
  local rename = vim.lsp.util.make_position_params(0, 'utf-16')
  rename.newName = 'total'
  vim.lsp.util.apply_workspace_edit(ask('textDocument/rename', rename), 'utf-16')
  show('renamed')

  local format = vim.lsp.util.make_formatting_params()
  vim.lsp.util.apply_text_edits(ask('textDocument/formatting', format), 0, 'utf-16')
  show('formatted')
end

local ok, why = pcall(steps)
if not ok then
  io.stderr:write(why .. '\n')
  vim.cmd('cquit')
end
vim.cmd('qall!')
