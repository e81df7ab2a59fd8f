-- For buffers with programs in Eve: starts `eve lsp`, in Neovim 0.7 or newer, and colours by
-- tree-sitter.
local M = {}

-- Colours the buffer by the tree-sitter parser, if there is one.
function M.colour()
  if #vim.api.nvim_get_runtime_file('parser/eve.*', false) == 0 then
    return
  end
  local ok, why = pcall(vim.treesitter.start, 0, 'eve')
  if not ok then
    vim.notify_once('eve.vim: the tree-sitter parser: ' .. why)
  end
end

-- The folder of a project: the nearest one above the file that git knows, or else the file's own.
local function root(file)
  local dir = vim.fn.fnamemodify(file, ':p:h')
  local git = vim.fn.finddir('.git', dir .. ';')
  return git ~= '' and vim.fn.fnamemodify(git, ':p:h:h') or dir
end

local clients = {}

function M.start()
  local buffer = vim.api.nvim_get_current_buf()
  if vim.bo[buffer].buftype ~= '' then
    return
  end
  local program = vim.g.eve_path or 'eve'
  if vim.fn.executable(program) == 0 then
    vim.notify_once('eve.vim: there is no program ' .. program .. '; g:eve_path names it')
    return
  end
  local dir = root(vim.api.nvim_buf_get_name(buffer))
  local config = {
    name = 'eve',
    cmd = { program, 'lsp' },
    root_dir = dir,
    workspace_folders = { { uri = vim.uri_from_fname(dir), name = dir } },
  }
  if vim.lsp.start then -- since 0.8
    vim.lsp.start(config)
    return
  end
  local id = clients[dir]
  if not id or vim.lsp.client_is_stopped(id) then
    id = vim.lsp.start_client(config)
    clients[dir] = id
  end
  if id then
    vim.lsp.buf_attach_client(buffer, id)
  end
end

return M
