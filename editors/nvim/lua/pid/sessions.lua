--- The sessions that are open in this Neovim: their ids, leaves and uses, kept in step with the daemon.
--- The ones of a daemon that crashed are opened again at the leaf that they had.

local client = require("pid.client")
local events = require("pid.events")
local notify = require("pid.notify")
local task = require("pid.task")

local M = {}

---@class pid.Session
---@field id string The daemon's handle; another one after a restart.
---@field path? string
---@field cwd string
---@field name? string
---@field leaf? string
---@field revision integer
---@field epoch string
---@field settings pid.Settings
---@field usage? pid.ContextUsage
---@field compaction? pid.CompactionNotice The compaction that runs.
---@field is_compacted_here? boolean Whether the compaction that runs was asked for in this Neovim.
---@field problems pid.Problem[]

local open = {} ---@type pid.Session[] the last used first
local CANCELLED = -32800

---@param session pid.Session
---@param state pid.SessionState
local function take(session, state)
  session.id, session.path, session.cwd, session.name = state.sessionId, state.path, state.cwd, state.name
  session.leaf, session.revision, session.epoch = state.leafId, state.revision, state.epoch
  session.settings, session.problems = state.settings, state.problems
  session.compaction = state.compaction
  return session
end

---@param id string
---@return pid.Session?
local function find(id)
  for _, session in ipairs(open) do
    if session.id == id then
      return session
    end
  end
end

local function forget(session)
  open = vim.tbl_filter(function(other)
    return other ~= session
  end, open)
end

--- Makes a session the current one.
---@param session pid.Session
function M.use(session)
  forget(session)
  table.insert(open, 1, session)
  return session
end

---@return boolean
function M.any()
  return #open > 0
end

---@return pid.Session[] sessions The current one first.
function M.all()
  return vim.list_slice(open)
end

--- The session of the window, else the one last used. Raises if none is open.
---@return pid.Session
function M.current()
  local session = vim.b.pid_session and find(vim.b.pid_session) or open[1]
  if not session then
    error({ message = "no session is open: use :Pid open, :Pid continue or :Pid new" }, 0)
  end
  return session
end

--- The same, or nil.
---@return pid.Session?
function M.peek()
  return vim.b.pid_session and find(vim.b.pid_session) or open[1]
end

-- Requests, in flows of `pid.task`.

---@param method pid.Request
---@param params table
---@param session? pid.Session
---@param started? fun(call: pid.Call) Gets the call, which can be cancelled.
function M.request(method, params, session, started)
  return task.call(function(resume)
    local call = { method = method, params = params, session = session, done = resume }
    client.request(call)
    if started then
      started(call)
    end
  end)
end

---@param err any
---@return boolean
function M.was_cancelled(err)
  return type(err) == "table" and err.code == CANCELLED
end

--- Waits until the daemon has said what it offers; raises if it has not this method.
---@param method pid.Request
function M.need(method)
  local info = client.info() or task.call(client.ready)
  if not vim.tbl_contains(info.offer.methods, method) then
    error(
      { kind = "methodNotFound", message = ("this daemon (%s) has no %s"):format(info.version, method) },
      0
    )
  end
end

local function opened(state)
  local known = find(state.sessionId)
  local session = M.use(take(known or {}, state))
  if known then
    client.request({ method = "session/close", params = {}, session = session, done = function() end })
  else
    events.emit("open", { session = session })
    if #session.problems > 0 then
      local count = #session.problems
      notify.warn(("%d problem%s in the file, see :Pid log"):format(count, count == 1 and "" or "s"))
      for _, problem in ipairs(session.problems) do
        notify.record(("line %d: %s: %s"):format(problem.line, problem.kind, problem.message))
      end
    end
  end
  return session
end

--- Opens a session by a request that is answered with its state; opened twice, it stays one.
---@param method "session/create"|"session/open"|"session/continueRecent"|"session/fork"
---@param params table
---@return pid.Session
function M.open(method, params)
  M.need(method)
  return opened(M.request(method, params))
end

---@param session pid.Session
function M.close(session)
  forget(session)
  events.emit("close", { session = session, reason = "closed" })
  M.request("session/close", {}, session)
end

--- Moves the leaf; nil is the place before the first entry.
---@param session pid.Session
---@param entry_id? string
---@param more? table Further params, such as `summarize`.
---@param started? fun(call: pid.Call)
---@return pid.SetLeafResult
function M.set_leaf(session, entry_id, more, started)
  local params = vim.tbl_extend("force", { entryId = entry_id or vim.NIL }, more or {})
  local result = M.request("session/setLeaf", params, session, started)
  session.leaf = result.leafId
  return result
end

local function new_id()
  return (vim.uv.random(4):gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

--- Appends an entry. It gets an id here, so that it can be sent again after a crash without being doubled.
---@param session pid.Session
---@param entry table
---@param more? table Further params, such as `parentId`.
---@return pid.AppendResult
function M.append(session, entry, more)
  entry = vim.tbl_extend("keep", entry, { id = new_id() })
  local params = vim.tbl_extend("force", { entry = entry }, more or {})
  local result = M.request("session/append", params, session)
  session.leaf = result.leafId
  return result
end

-- After a crash.

---@param session pid.Session
---@param with_leaf boolean
---@param done fun()
local function reopen_one(session, with_leaf, done)
  local params = { path = session.path }
  if with_leaf then
    params.leafId = session.leaf or vim.NIL
  end
  client.request_first({
    method = "session/open",
    params = params,
    done = function(err, state)
      if state then
        take(session, state)
        events.emit("restart", { session = session })
      elseif with_leaf and err.code == 1002 then
        return reopen_one(session, false, done)
      else
        forget(session)
        events.emit("close", { session = session, reason = "lost" })
        notify.error(err)
      end
      done()
    end,
  })
end

--- Opens all sessions again in a new daemon, then calls `done`.
---@param done fun()
function M.reopen(done)
  local left = #open
  if left == 0 then
    return done()
  end
  for _, session in ipairs(M.all()) do
    local function one_done()
      left = left - 1
      if left == 0 then
        notify.warn("the daemon had ended and was started again; all sessions are open")
        done()
      end
    end
    if session.path then
      reopen_one(session, true, one_done)
    else
      forget(session)
      events.emit("close", { session = session, reason = "lost" })
      notify.warn("the session in memory ended with the daemon")
      one_done()
    end
  end
end

-- What the daemon tells.

local ENDED = { completed = true, failed = true, cancelled = true }

---@param session pid.Session
---@param change pid.DidChangeNotice
local function changed(session, change)
  if change.epoch == session.epoch and change.revision <= session.revision then
    return
  end
  session.revision, session.epoch, session.leaf = change.revision, change.epoch, change.leafId
  if change.name then
    session.name = change.name ~= "" and change.name or nil
  end
  events.emit("change", { session = session, change = change })
end

local function of_session(handle)
  return function(_, params)
    local session = find(params.sessionId)
    if session then
      handle(session, params)
    end
    vim.cmd.redrawstatus({ bang = true })
  end
end

---@type table<pid.Notification, lsp.Handler>
M.handlers = {
  ["session/didChange"] = of_session(changed),
  ["session/contextUsage"] = of_session(function(session, usage)
    local previous = session.usage
    session.usage = usage
    events.emit("usage", { session = session, usage = usage, previous = previous })
  end),
  ["session/compaction"] = of_session(function(session, notice)
    session.compaction = not ENDED[notice.state] and notice or nil
    events.emit("compaction", { session = session, compaction = notice })
  end),
  ["session/problems"] = of_session(function(session, notice)
    vim.list_extend(session.problems, notice.added)
    for _, problem in ipairs(notice.added) do
      notify.record(("line %d: %s: %s"):format(problem.line, problem.kind, problem.message))
    end
    events.emit("problems", { session = session, problems = notice.added })
  end),
  ["session/didClose"] = of_session(function(session, notice)
    forget(session)
    events.emit("close", { session = session, reason = notice.reason })
    notify.error({
      kind = "sessionChangedOnDisk",
      message = ("the session's file was %s"):format(notice.reason),
    })
  end),
}

return M
