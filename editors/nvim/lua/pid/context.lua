--- The context as the model sees it: a buffer to read, with a fold for each message.

local markdown = require("pid.markdown")
local sessions = require("pid.sessions")
local status = require("pid.status")
local window = require("pid.window")

local M = {}

---@class pid.ContextText
---@field lines string[]
---@field folds [integer, integer][] First and last line of each message.

local function model_name(model)
  return model and ("%s/%s"):format(model.provider, model.modelId) or "no model named"
end

---@param context pid.ContextResult
---@return string[]
local function head(context)
  local messages = context.payload and context.payload.messages or context.messages
  local lines = {
    ("# Context at %s"):format(context.leafId or "the place before the first entry"),
    "",
    ("%d messages · %s · thinking %s"):format(#messages, model_name(context.model), context.thinkingLevel),
  }
  if context.contextUsage then
    lines[#lines] = ("%s · %s"):format(lines[#lines], status.usage(context.contextUsage) or "size unknown")
  end
  for _, warning in ipairs(context.warnings) do
    vim.list_extend(lines, { "", ("> **%s** %s"):format(warning.kind, warning.message) })
  end
  lines[#lines + 1] = ""
  return lines
end

---@param text pid.ContextText
---@param title string
---@param body string[]
local function add(text, title, body)
  local first = #text.lines + 1
  vim.list_extend(text.lines, { "## " .. title, "" })
  vim.list_extend(text.lines, body)
  text.lines[#text.lines + 1] = ""
  text.folds[#text.folds + 1] = { first, #text.lines }
end

--- A context as text. Pure.
---@param context pid.ContextResult
---@return pid.ContextText
function M.text(context)
  local text = { lines = head(context), folds = {} }
  local payload = context.payload
  if payload and payload.system then
    add(text, "system", markdown.content(payload.system))
  end
  for index, message in ipairs(payload and payload.messages or context.messages) do
    local ids = table.concat(context.entryIds[index] or {}, " ")
    add(text, ("%s  %s"):format(message.role, ids), markdown.message(message))
  end
  if payload and payload.tools then
    add(text, "tools", markdown.fenced(markdown.json(payload.tools), "json"))
  end
  return text
end

local GROUPS = { user = "PidUser", assistant = "PidAssistant", toolResult = "PidTool", system = "PidMeta" }
local LOOKED_AT, SHOWN_CHARACTERS = 12, 90

-- The beginning of a message: its first lines that say something, without their marks.
local function beginning(first, last)
  local found = {}
  for line = first + 2, math.min(last, first + LOOKED_AT) do
    local text = vim.fn.getline(line)
    if text:find("%w") and not text:find("^```") then
      found[#found + 1] = vim.trim((text:gsub("%*%*", ""):gsub("`", ""):gsub("^[>#-] *", "")))
    end
    if #found == 2 then
      break
    end
  end
  return vim.fn.strcharpart(table.concat(found, "  "), 0, SHOWN_CHARACTERS)
end

--- What a closed message shows.
---@return [string, string][]
function M.foldtext()
  local first, last = vim.v.foldstart, vim.v.foldend
  local role, ids = vim.fn.getline(first):match("^## (%S+)%s*(.*)$")
  local count = last - first - 2
  local size = ("  %d line%s  %s"):format(count, count == 1 and "" or "s", ids)
  local group = GROUPS[role] or "PidSummary"
  return {
    { "▸ ", "PidGraph" },
    { ("%-11s "):format(role), group },
    { beginning(first, last), group },
    { size, "PidTime" },
  }
end

---@param win integer
---@param text pid.ContextText
local function fold(win, text)
  vim.api.nvim_win_call(win, function()
    vim.cmd("normal! zE")
    for _, range in ipairs(text.folds) do
      vim.cmd(("%d,%dfold"):format(range[1], range[2]))
    end
    if #text.folds > 0 then
      vim.api.nvim_win_set_cursor(win, { text.folds[#text.folds][1], 0 })
      vim.cmd("normal! zoGzb")
    end
  end)
end

---@param session pid.Session
---@param params table
local function build(session, params)
  local asked = vim.tbl_extend("keep", params, { format = "llm" })
  return sessions.request("session/buildContext", asked, session)
end

--- Shows a context. In a flow.
---@param session pid.Session
---@param params? table Of `session/buildContext`, such as `format` and `leafId`.
---@param split? string Modifiers as in `:help mods`.
function M.open(session, params, split)
  local context = build(session, params or {})
  local text = M.text(context)
  local buf, is_new = window.buffer(("pid://%s/context"):format(session.id), "pid-context")
  local old = is_new and { "" } or vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  window.replace(buf, old, text.lines)
  vim.b[buf].pid_session = session.id
  window.markdown(buf)
  local win = window.show(buf, split and split ~= "" and split or require("pid.config").options.tree.split)
  window.set(win, {
    foldmethod = "manual",
    foldenable = true,
    foldtext = "v:lua.require'pid.context'.foldtext()",
    fillchars = "fold: ",
    wrap = true,
    linebreak = true,
    number = false,
    relativenumber = false,
    conceallevel = 2,
    winbar = "",
    winhighlight = "Folded:Normal",
  })
  fold(win, text)
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buf, nowait = true, desc = "pid: close" })
  vim.keymap.set("n", "R", function()
    require("pid.actions").go(function()
      M.open(session, params)
    end)
  end, { buffer = buf, nowait = true, desc = "pid: read again" })
end

return M
