--- What other plugins and people's own configuration use. Everything else is the plugin's own business.
---
--- Functions that ask the daemon end with a callback `(err, result)`; `err` is nil or has `message`, `code` and `kind`.

local config = require("pid.config")
local events = require("pid.events")
local sessions = require("pid.sessions")
local task = require("pid.task")

local M = {}

---@alias pid.Done fun(err: table?, result: any)

---@param done? pid.Done
---@param flow fun(): any
local function go(done, flow)
  task.run(flow, function(err, result)
    if done then
      done(type(err) == "string" and { message = err, kind = "internalFault" } or err, result)
    elseif err then
      require("pid.notify").error(err)
    end
  end)
end

--- Sets options; all have defaults, so this may be left out. May be called again.
---@param opts? table See `pid.Options`.
function M.setup(opts)
  config.set(opts)
end

--- Opens a session: `{ path = … }` or `{ id = … }`; `{ create = true, name = … }` makes one, `{ recent = true }`
--- takes the one of the directory that was used last.
---@param opts { path?: string, id?: string, cwd?: string, name?: string, create?: boolean, recent?: boolean }
---@param done? fun(err: table?, session: pid.Session?)
function M.open(opts, done)
  go(done, function()
    local cwd = opts.cwd or vim.fn.getcwd()
    if opts.create then
      return sessions.open("session/create", { cwd = cwd, name = opts.name })
    elseif opts.recent then
      return sessions.open("session/continueRecent", { cwd = cwd })
    end
    return sessions.open(
      "session/open",
      { path = opts.path, id = opts.id, cwd = opts.id and opts.cwd or nil }
    )
  end)
end

--- The session of the window, else the one last used; nil if none is open.
---@return pid.Session?
function M.session()
  return sessions.peek()
end

--- Sends any request of the protocol; `sessionId` is filled in where it is left out and a session is open.
---@param method pid.Request
---@param params? table
---@param done? pid.Done
function M.request(method, params, done)
  go(done, function()
    local of_session = vim.startswith(method, "session/") and not (params or {}).sessionId
    return sessions.request(method, vim.deepcopy(params or {}), of_session and sessions.peek() or nil)
  end)
end

--- Appends an entry, or a text as a message of the user, to the current session. It is on the disk when `done` is
--- called without an error.
---@param entry table|string
---@param opts? { parentId?: string, expectedAncestorId?: string, expectedLeafId?: string, session?: pid.Session }
---@param done? fun(err: table?, result: pid.AppendResult?)
function M.append(entry, opts, done)
  go(done, function()
    local more = vim.deepcopy(opts or {})
    more.session = nil
    local session = opts and opts.session or sessions.current()
    if type(entry) == "string" then
      entry = require("pid.actions").user_message(entry)
    end
    return sessions.append(session, entry, more)
  end)
end

--- Moves the leaf; nil is the place before the first entry.
---@param entry_id? string
---@param opts? { summarize?: boolean|table, session?: pid.Session }
---@param done? fun(err: table?, result: pid.SetLeafResult?)
function M.set_leaf(entry_id, opts, done)
  go(done, function()
    opts = opts or {}
    return sessions.set_leaf(opts.session or sessions.current(), entry_id, { summarize = opts.summarize })
  end)
end

--- The messages for the model at the leaf.
---@param opts? table Params of `session/buildContext`, and `session`.
---@param done fun(err: table?, context: pid.ContextResult?)
function M.build_context(opts, done)
  go(done, function()
    local params = vim.tbl_extend("force", {}, opts or {})
    params.session = nil
    return sessions.request("session/buildContext", params, opts and opts.session or sessions.current())
  end)
end

--- Compacts the current session.
---@param opts? table Params of `session/compact`, and `session`.
---@param done? fun(err: table?, result: pid.CompactionResult?)
function M.compact(opts, done)
  go(done, function()
    local params = vim.tbl_extend("force", {}, opts or {})
    params.session = nil
    return require("pid.compaction").run(opts and opts.session or sessions.current(), params)
  end)
end

M.on = events.on

--- The current session in a few words: the share of the window that is used, and whether it is being compacted.
--- Empty without a session.
---@return string
function M.statusline()
  local session = sessions.peek()
  return session and require("pid.status").text(session) or ""
end

return M
