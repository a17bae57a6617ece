--- Buffers and windows of this plugin: scratch buffers with a name of their own, that nobody writes to by mistake.

local M = {}

--- The buffer of that name, made if there is none.
---@param name string Such as `pid://tree/…`.
---@param filetype string
---@return integer buf
---@return boolean is_new
function M.buffer(name, filetype)
  local known = vim.fn.bufnr("^" .. vim.fn.escape(name, "^$.*[]~\\") .. "$")
  if known > 0 then
    return known, false
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].bufhidden = "hide"
  vim.bo[buf].swapfile = false
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = filetype
  return buf, true
end

--- Shows a buffer: in the window that has it already, else in a split.
---@param buf integer
---@param split string Modifiers as in `:help mods`; empty for a horizontal split.
---@return integer win
function M.show(buf, split)
  local win = vim.fn.win_findbuf(buf)[1]
  if win and vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
    vim.api.nvim_set_current_win(win)
  else
    vim.cmd(("%s sbuffer %d"):format(split, buf))
    win = vim.api.nvim_get_current_win()
  end
  return win
end

---@param win integer
---@param options table<string, any>
function M.set(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = win })
  end
end

--- Makes a buffer's lines these, touching only the ones that differ: marks, folds and the screen stay calm.
---@param buf integer
---@param old string[] What it holds.
---@param new string[]
function M.replace(buf, old, new)
  local first, stop_old, stop_new = 1, #old, #new
  while first <= stop_old and first <= stop_new and old[first] == new[first] do
    first = first + 1
  end
  while stop_old >= first and stop_new >= first and old[stop_old] == new[stop_new] do
    stop_old, stop_new = stop_old - 1, stop_new - 1
  end
  if stop_old < first and stop_new < first then
    return
  end
  vim.bo[buf].modifiable = true
  local lines = vim.list_slice(new, first, stop_new)
  vim.api.nvim_buf_set_lines(buf, first - 1, stop_old, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

local MOST_PARSED = 20000 -- lines; a longer text is coloured by the cheaper rules

--- Colours a buffer as Markdown, without taking it for a file of that type.
---@param buf integer
function M.markdown(buf)
  local is_short = vim.api.nvim_buf_line_count(buf) <= MOST_PARSED
  if not (is_short and pcall(vim.treesitter.start, buf, "markdown")) then
    vim.bo[buf].syntax = "markdown"
  end
end

--- A float over the middle of the screen; `q` and `<Esc>` close it.
---@param lines string[]
---@param opts { title: string, is_markdown?: boolean }
---@return integer win
function M.float(lines, opts)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].modifiable = false
  local widest = 40
  for _, line in ipairs(lines) do
    widest = math.max(widest, vim.api.nvim_strwidth(line:sub(1, 400)))
  end
  widest = math.max(widest, vim.api.nvim_strwidth(opts.title) + 2)
  local width = math.min(widest + 2, math.floor(vim.o.columns * 0.85), 110)
  local height = math.max(1, math.min(#lines + 1, math.floor(vim.o.lines * 0.75)))
  local win = vim.api.nvim_open_win(buf, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
    border = "rounded",
    style = "minimal",
    title = (" %s "):format(opts.title),
    footer = " q closes ",
    footer_pos = "right",
  })
  M.set(win, { wrap = true, linebreak = true, conceallevel = 2, concealcursor = "n" })
  if opts.is_markdown then
    M.markdown(buf)
  end
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, "<Cmd>close<CR>", { buffer = buf, nowait = true })
  end
  return win
end

return M
