--- The subcommands of `:Pid`: one table, for running, completing and telling what there is.

local actions = require("pid.actions")
local notify = require("pid.notify")
local pick = require("pid.pick")
local sessions = require("pid.sessions")
local window = require("pid.window")

local M = {}

---@class pid.Given
---@field text string What stands behind the subcommand.
---@field split string The modifiers in front of the command.
---@field lines? string[] The lines of a range.

local function show_tree(session, given)
  require("pid.tree").open(session, given.split)
end

local function open_path(path, given)
  show_tree(sessions.open("session/open", { path = path }), given)
end

local function open_picked(given, all)
  local info = pick.session(all)
  if info then
    open_path(info.path, given)
  end
end

---@param name string
---@param lines string[]
---@param given pid.Given
local function show_text(name, lines, given)
  local buf, is_new = window.buffer("pid://" .. name, "pid-" .. name)
  window.replace(buf, is_new and { "" } or vim.api.nvim_buf_get_lines(buf, 0, -1, false), lines)
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buf, nowait = true, desc = "pid: close" })
  window.show(buf, given.split)
  return buf
end

local function entry_here()
  local id, tree = require("pid.tree").under_cursor()
  if tree then
    return tree.session, id ~= "" and id or nil
  end
  local session = sessions.current()
  return session, session.leaf
end

-- Where the daemon keeps its log, by its README.
local function daemon_log()
  local is_mac = vim.uv.os_uname().sysname == "Darwin"
  local state = is_mac and "~/Library/Application Support" or vim.env.XDG_STATE_HOME or "~/.local/state"
  return vim.fs.normalize(state .. "/pid/pid.log")
end

local function tell_problems(problems)
  for _, problem in ipairs(problems) do
    notify.warn(("%s: %s"):format(problem.path, problem.message))
  end
end

---@param prefix string
---@return string[]
local function files(prefix)
  return vim.fn.getcompletion(prefix, "file")
end

local function words(...)
  local all = { ... }
  return function(lead)
    return vim.tbl_filter(function(word)
      return vim.startswith(word, lead)
    end, all)
  end
end

---@class pid.Subcommand
---@field [1] string What it does.
---@field run fun(given: pid.Given) A flow.
---@field complete? fun(lead: string): string[]

---@type table<string, pid.Subcommand>
M.subcommands = {
  new = {
    "make a session in this directory",
    run = function(given)
      local name = given.text ~= "" and given.text or nil
      show_tree(sessions.open("session/create", { cwd = vim.fn.getcwd(), name = name }), given)
    end,
  },
  open = {
    "open a session file, or choose one",
    complete = files,
    run = function(given)
      if given.text == "" then
        return open_picked(given, false)
      end
      open_path(vim.fn.fnamemodify(vim.fn.expand(given.text), ":p"), given)
    end,
  },
  continue = {
    "open the session of this directory that was used last",
    run = function(given)
      show_tree(sessions.open("session/continueRecent", { cwd = vim.fn.getcwd() }), given)
    end,
  },
  list = {
    "choose among the sessions of this directory, or of all",
    complete = words("all"),
    run = function(given)
      open_picked(given, given.text == "all")
    end,
  },
  tree = {
    "show the session as a tree",
    run = function(given)
      show_tree(sessions.current(), given)
    end,
  },
  append = {
    "append a message of the user; a range appends its lines",
    run = function(given)
      local session = sessions.current()
      local text = given.lines and table.concat(given.lines, "\n") or given.text
      if text == "" then
        text = require("pid.task").input({ prompt = "Message: " }) or ""
      end
      if vim.trim(text) ~= "" then
        sessions.append(session, actions.user_message(text))
      end
    end,
  },
  label = {
    "label the entry under the cursor, else the leaf",
    run = function(given)
      local session, id = entry_here()
      if not id then
        error({ message = "there is no entry to label" }, 0)
      end
      local text = given.text
      if text == "" then
        text = require("pid.task").input({ prompt = "Label: " })
      end
      if text then
        actions.set_label(session, id, vim.trim(text))
      end
    end,
  },
  fork = {
    "make a new session of the path to the entry under the cursor, else to the leaf",
    run = function(given)
      local session, id = entry_here()
      require("pid.tree").open(actions.fork_session(session, id), given.split ~= "" and given.split or "tab")
    end,
  },
  compact = {
    "preview a compaction, then compact; the text says what the summary should look after",
    run = function(given)
      local params = { instructions = given.text ~= "" and given.text or nil }
      require("pid.compaction").preview(sessions.current(), params, given.split)
    end,
  },
  cancel = {
    "stop a compaction",
    run = function()
      require("pid.compaction").cancel(sessions.current())
    end,
  },
  context = {
    "show what the model sees at the leaf",
    complete = words("llm", "agent", "anthropic"),
    run = function(given)
      local params = { format = given.text ~= "" and given.text or nil }
      require("pid.context").open(sessions.current(), params, given.split)
    end,
  },
  usage = {
    "tell how much of the model's window is used",
    run = function()
      local session = sessions.current()
      sessions.need("session/getContextUsage")
      session.usage = sessions.request("session/getContextUsage", {}, session)
      notify.info(require("pid.status").usage(session.usage) or "nothing is known of the size yet")
    end,
  },
  prompt = {
    "show the system prompt of this directory",
    run = function(given)
      sessions.need("prompt/build")
      local result = sessions.request("prompt/build", { cwd = vim.fn.getcwd() })
      local buf = show_text("prompt", vim.split(result.prompt, "\n"), given)
      window.markdown(buf)
      tell_problems(result.problems)
    end,
  },
  close = {
    "close the session",
    run = function()
      sessions.close(sessions.current())
    end,
  },
  log = {
    "show what the daemon and this plugin said",
    run = function(given)
      local lines = vim.list_slice(notify.log)
      lines[#lines + 1] = "The daemon's own log: " .. daemon_log()
      lines[#lines + 1] = "Neovim's log of language servers: " .. vim.lsp.log.get_filename()
      show_text("log", lines, given)
      vim.cmd("normal! G")
    end,
  },
}

--- The names of the subcommands, sorted.
---@return string[]
function M.names()
  local names = vim.tbl_keys(M.subcommands)
  table.sort(names)
  return names
end

---@param call vim.api.keyset.create_user_command.command_args
---@param text string
---@return pid.Given
local function given_by(call, text)
  local lines = call.range > 0 and vim.api.nvim_buf_get_lines(0, call.line1 - 1, call.line2, false) or nil
  return { text = text, split = call.mods or "", lines = lines }
end

--- Runs `:Pid …`.
---@param call vim.api.keyset.create_user_command.command_args
function M.run(call)
  local name, text = call.args:match("^(%S+)%s*(.-)%s*$")
  if not name then
    return M.choose(call)
  end
  local subcommand = M.subcommands[name]
  if not subcommand then
    return notify.error({
      message = ("no subcommand `%s`; there are %s"):format(name, table.concat(M.names(), ", ")),
    })
  end
  local given = given_by(call, text)
  actions.go(function()
    subcommand.run(given)
  end)
end

--- Lets the user choose a subcommand.
---@param call vim.api.keyset.create_user_command.command_args
function M.choose(call)
  vim.ui.select(M.names(), {
    prompt = "pid",
    kind = "pid.subcommand",
    format_item = function(name)
      return ("%-9s %s"):format(name, M.subcommands[name][1])
    end,
  }, function(name)
    if name then
      local given = given_by(call, "")
      actions.go(function()
        M.subcommands[name].run(given)
      end)
    end
  end)
end

--- Completes `:Pid …`.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name, rest = line:match("^.-Pid!?%s+(%S+)%s(.*)$")
  if not name then
    return words(unpack(M.names()))(lead)
  end
  local subcommand = M.subcommands[name]
  return subcommand and subcommand.complete and subcommand.complete(rest) or {}
end

return M
