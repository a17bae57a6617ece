--- The daemon, through Neovim's own LSP client: started at the first request, and again after a crash.
--- It knows no session; `pid.sessions` opens its own again before anything else is sent. Every request is
--- called back exactly once.

local config = require("pid.config")
local notify = require("pid.notify")
local plain = require("pid.plain")

local M = {}

local PROTOCOL_VERSION = 1
local PATIENCE_MS = 20000
local MOST_CRASHES, CRASH_SECONDS = 3, 60
local CANCELLED = -32800

-- What may be sent again to a new daemon: reads, and writes that write nothing when they are repeated.
local REPEATABLE = {
  ["session/open"] = true,
  ["session/getState"] = true,
  ["session/getTree"] = true,
  ["session/getBranch"] = true,
  ["session/getEntries"] = true,
  ["session/buildContext"] = true,
  ["session/getContextUsage"] = true,
  ["session/previewCompaction"] = true,
  ["session/list"] = true,
  ["session/configure"] = true,
  ["prompt/build"] = true,
  ["session/append"] = function(params)
    return params.entry.id ~= nil
  end,
  ["session/setLeaf"] = function(params)
    return not (params.summarize or params.expectedLeafId)
  end,
}

---@class pid.Call
---@field method? pid.Request Nil only waits for the daemon.
---@field params? table
---@field session? { id: string } Whose id goes into the params when it is sent.
---@field done fun(err: any, result: any)
---@field request_id? integer
---@field cancel? fun()
---@field is_first? boolean Whether it opens a session again: another daemon gets another one.

---@class pid.Daemon
---@field id integer The LSP client.
---@field lsp? vim.lsp.Client Once it answered `initialize`.
---@field offer? pid.PidServerCapability
---@field version? string
---@field ready boolean Whether sessions are open again and calls may be sent.
---@field stopping boolean

local daemon ---@type pid.Daemon?
local waiting = {} ---@type pid.Call[]
local sent = {} ---@type table<integer, pid.Call>
local crashes = {} ---@type integer[]

local method_of = function(name)
  local new = vim.fn.has("nvim-0.11") == 1
  return function(client, ...)
    if new then
      return client[name](client, ...)
    end
    return client[name](...)
  end
end
local lsp_request, lsp_cancel, lsp_stop = method_of("request"), method_of("cancel_request"), method_of("stop")

---@param call pid.Call
local function finish(call, err, result)
  if call.request_id then
    sent[call.request_id] = nil
  end
  call.done(err, result)
end

---@param err table
local function fail_all(err)
  local calls = waiting
  for _, call in pairs(sent) do
    calls[#calls + 1] = call
  end
  waiting, sent = {}, {}
  for _, call in ipairs(calls) do
    finish(call, err)
  end
end

---@param call pid.Call
local function send(call)
  if not call.method then
    return call.done(nil, daemon)
  end
  if call.session then
    call.params.sessionId = call.session.id
  end
  local answered = plain.handler(function(err, result)
    finish(call, err, result)
  end)
  local ok, request_id = lsp_request(daemon.lsp, call.method, call.params, answered)
  if ok then
    call.request_id = request_id
    sent[request_id] = call
  else
    waiting[#waiting + 1] = call -- the process has just ended: its exit is told next
  end
end

local function send_waiting()
  local calls = waiting
  waiting = {}
  for _, call in ipairs(calls) do
    send(call)
  end
end

local function may_repeat(call)
  local rule = not call.is_first and REPEATABLE[call.method]
  return type(rule) == "function" and rule(call.params) or rule == true
end

---@return boolean again Whether it has not ended too often.
local function count_crash()
  local now = os.time()
  crashes[#crashes + 1] = now
  local recent = vim.tbl_filter(function(time)
    return now - time < CRASH_SECONDS
  end, crashes)
  crashes = recent
  return #recent <= MOST_CRASHES
end

local start

local function after_crash(code, signal)
  local was_sent = vim.tbl_values(sent)
  sent = {}
  table.sort(was_sent, function(a, b)
    return a.request_id < b.request_id
  end)
  local how = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  local err = { kind = "daemonEnded", message = ("the daemon ended (%s)"):format(how) }
  notify.record(err.message)
  if not count_crash() then
    waiting = vim.list_extend(was_sent, waiting)
    return fail_all(err)
  end
  local repeated = {}
  for _, call in ipairs(was_sent) do
    if may_repeat(call) then
      repeated[#repeated + 1] = call
    elseif not call.is_first then
      call.request_id = nil
      call.done(err)
    end
  end
  waiting = vim.list_extend(repeated, waiting)
  if #waiting > 0 or require("pid.sessions").any() or require("pid.documents").any() then
    start()
  end
end

local function on_exit(id, code, signal)
  if not daemon or daemon.id ~= id then
    return
  end
  local intended = daemon.stopping
  daemon = nil
  if intended then
    fail_all({ kind = "daemonEnded", message = "the daemon was stopped" })
  else
    after_crash(code, signal)
  end
end

local function give_up(err)
  local gone = daemon
  daemon = nil
  if gone then
    pcall(vim.lsp.stop_client, gone.id, true)
  end
  fail_all(err)
end

---@param client vim.lsp.Client
---@param result pid.InitializeResult
local function on_init(client, result)
  result = plain.plain(result)
  local offer = vim.tbl_get(result, "capabilities", "experimental", "pid")
  if not offer then
    return give_up({ kind = "noDaemon", message = ("`%s` is no pid daemon"):format(config.options.cmd[1]) })
  end
  daemon.lsp, daemon.offer = client, offer
  daemon.version = vim.tbl_get(result, "serverInfo", "version")
  require("pid.sessions").reopen(function()
    if daemon then
      daemon.ready = true
      require("pid.documents").attach_again(daemon)
      send_waiting()
    end
  end)
end

local function handlers()
  require("pid.news")
  local of = vim.tbl_extend("error", {}, require("pid.sessions").handlers)
  of["workspace/codeLens/refresh"] = require("pid.documents").lenses_moved
  of["pid/summarize"] = require("pid.summarize").handle
  of["window/logMessage"] = function(_, params)
    notify.record(params.message)
  end
  return vim.tbl_map(plain.handler, of)
end

local function capabilities(handled)
  local mine = {
    protocolVersion = PROTOCOL_VERSION,
    notifications = vim.tbl_filter(function(name)
      return name:find("^session/") ~= nil
    end, vim.tbl_keys(handled)),
    summarize = config.options.summarize and true or nil,
  }
  local all = vim.lsp.protocol.make_client_capabilities()
  local refresh = { codeLens = { refreshSupport = true } }
  return vim.tbl_deep_extend("force", all, { experimental = { pid = mine }, workspace = refresh })
end

local function present(settings)
  return next(settings) and settings or nil
end

local function lsp_config()
  local options = config.options
  local handled = handlers()
  return {
    name = "pid",
    cmd = options.cmd,
    root_dir = vim.fn.getcwd(),
    workspace_folders = { { uri = vim.uri_from_fname(vim.fn.getcwd()), name = vim.fn.getcwd() } },
    capabilities = capabilities(handled),
    init_options = {
      sessionDir = options.session_dir and vim.fs.normalize(options.session_dir),
      agentDir = options.agent_dir and vim.fs.normalize(options.agent_dir),
      settings = present(options.settings),
    },
    handlers = handled,
    on_init = on_init,
    on_exit = vim.schedule_wrap(function(code, signal, id)
      on_exit(id, code, signal)
    end),
    reuse_client = function()
      return false
    end,
  }
end

local function lsp_start(settings)
  if vim.fn.has("nvim-0.11") == 1 then
    return vim.lsp.start(settings, { attach = false, silent = true })
  end
  return vim.lsp.start_client(settings)
end

-- A cancelled request is not called back by Neovim: its completion without a callback is how that shows.
local function watch_cancelled()
  vim.api.nvim_create_autocmd("LspRequest", {
    group = vim.api.nvim_create_augroup("pid.client", { clear = true }),
    callback = function(event)
      local call = event.data.request.type == "complete" and sent[event.data.request_id]
      if call and daemon and event.data.client_id == daemon.id then
        vim.schedule(function()
          if sent[event.data.request_id] == call then
            finish(call, { code = CANCELLED, kind = "requestCancelled", message = "cancelled" })
          end
        end)
      end
    end,
  })
end

start = function()
  local command = config.options.cmd[1]
  if vim.fn.executable(command) == 0 then
    return fail_all({ kind = "noDaemon", message = ("there is no command `%s`"):format(command) })
  end
  watch_cancelled()
  local starting = { id = 0, ready = false, stopping = false }
  daemon = starting
  local id = lsp_start(lsp_config())
  if not id then
    return give_up({ kind = "noDaemon", message = ("`%s` cannot be started"):format(command) })
  end
  starting.id = id
  vim.defer_fn(function()
    if daemon == starting and not starting.lsp then
      give_up({ kind = "daemonEnded", message = "the daemon does not answer" })
    end
  end, PATIENCE_MS)
end

--- Sends a request, and starts the daemon if there is none. `call.done` is called once, never at once.
---@param call pid.Call
function M.request(call)
  call.cancel = function()
    if daemon and daemon.lsp and call.request_id then
      lsp_cancel(daemon.lsp, call.request_id)
    end
  end
  if daemon and daemon.ready then
    return send(call)
  end
  waiting[#waiting + 1] = call
  if not daemon then
    vim.schedule(function()
      if not daemon then
        start()
      end
    end)
  end
end

--- Sends a request before all that wait, to open a session again. It is not called back if this daemon ends, too.
---@param call pid.Call
function M.request_first(call)
  call.is_first = true
  send(call)
end

--- Starts the daemon if there is none; `done` gets it as soon as requests may be sent.
---@param done fun(err: any, daemon: pid.Daemon?)
function M.ready(done)
  M.request({ done = done })
end

--- What the daemon offers; nil before it answered.
---@return pid.Daemon?
function M.info()
  return daemon and daemon.offer and daemon or nil
end

--- Stops the daemon. All that it acknowledged is in the files.
function M.stop()
  if daemon then
    daemon.stopping = true
    if daemon.lsp then
      lsp_stop(daemon.lsp)
    else
      pcall(vim.lsp.stop_client, daemon.id, true)
    end
  end
end

return M
