--- Session files as documents: the daemon, attached to their buffers as a language server. Outline, problems, hover
--- and jumps are Neovim's own then. This module attaches, keeps the lenses fresh, and loads files again that grew.

local client = require("pid.client")
local config = require("pid.config")
local events = require("pid.events")
local notify = require("pid.notify")

local M = {}

local GROUP = vim.api.nvim_create_augroup("pid.documents.buffers", { clear = true })

local attached = {} ---@type table<integer, true> by buffer

---@param buf integer
local function refresh_lenses(buf)
  local lenses = vim.lsp.codelens
  if lenses.enable then
    lenses.enable(true, { bufnr = buf })
  else
    lenses.refresh({ bufnr = buf })
  end
end

---@param buf integer
---@param daemon pid.Daemon
local function attach_to(buf, daemon)
  if attached[buf] and vim.api.nvim_buf_is_loaded(buf) then
    vim.lsp.buf_attach_client(buf, daemon.id)
    refresh_lenses(buf)
  end
end

--- The buffer of a session's file, if it is attached.
---@param session pid.Session
---@return integer?
local function buffer_of(session)
  local real = vim.uv.fs_realpath
  for buf in pairs(attached) do
    if session.path and real(vim.api.nvim_buf_get_name(buf)) == real(session.path) then
      return buf
    end
  end
end

--- Shows what stands in a file that grew, unless it was edited here.
---@param buf integer
local function load_again(buf)
  if not vim.bo[buf].modified then
    vim.cmd.checktime(buf)
  end
end

local function watch()
  watch = function() end
  for _, event in ipairs({ "open", "close", "change" }) do
    events.on(event, function(data)
      local buf = buffer_of(data.session)
      if buf and event == "change" then
        load_again(buf)
      end
      if buf then
        refresh_lenses(buf)
      end
    end)
  end
end

--- Attaches the daemon to a buffer of a session file, and starts it if there is none.
---@param buf integer
function M.attach(buf)
  if attached[buf] or not config.options.documents then
    return
  end
  attached[buf] = true
  watch()
  vim.api.nvim_create_autocmd({ "BufEnter", "InsertLeave", "BufWritePost" }, {
    group = GROUP,
    buffer = buf,
    callback = function()
      refresh_lenses(buf)
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = GROUP,
    buffer = buf,
    callback = function()
      attached[buf] = nil
      vim.api.nvim_clear_autocmds({ group = GROUP, buffer = buf })
    end,
  })
  client.ready(function(err, daemon)
    if daemon then
      attach_to(buf, daemon)
    else
      attached[buf] = nil
      notify.record(err.message)
    end
  end)
end

--- Attaches another daemon, which took the place of one that ended.
---@param daemon pid.Daemon
function M.attach_again(daemon)
  for buf in pairs(attached) do
    attach_to(buf, daemon)
  end
end

---@return boolean
function M.any()
  return next(attached) ~= nil
end

--- The daemon says that lenses may be others now.
---@type lsp.Handler
function M.lenses_moved()
  for buf in pairs(attached) do
    refresh_lenses(buf)
  end
  return vim.NIL
end

return M
