--- Compacting: the preview, the run with its progress, cancelling, and the summary.

local config = require("pid.config")
local Model = require("pid.model")
local notify = require("pid.notify")
local sessions = require("pid.sessions")
local status = require("pid.status")
local task = require("pid.task")
local window = require("pid.window")

local M = {}

local ns = vim.api.nvim_create_namespace("pid.compaction")

---@param session pid.Session
---@return table<string, pid.TreeNode>
local function nodes_of(session)
  local model, cursor = Model.new(), nil
  repeat
    local page = sessions.request("session/getTree", { cursor = cursor }, session)
    model:take(page)
    cursor = page.nextCursor
  until not cursor
  return model.nodes
end

---@param session pid.Session
---@param result pid.CompactionResult
local function show_summary(session, result)
  local lines = vim.split(result.summary, "\n")
  local saved = ("%s → %s tokens"):format(
    status.tokens(result.tokensBefore),
    status.tokens(result.tokensAfter)
  )
  notify.info(("%s compacted: %s"):format(session.name or "session", saved))
  window.float(lines, { title = "Summary, " .. saved, is_markdown = true })
end

--- Compacts, and shows the summary. In a flow.
---@param session pid.Session
---@param params? table Of `session/compact`.
---@return pid.CompactionResult
function M.run(session, params)
  sessions.need("session/compact")
  local token = "pid-compaction-" .. vim.uv.hrtime()
  local asked = vim.tbl_extend("keep", params or {}, { workDoneToken = token })
  session.is_compacted_here = true
  local err, result = task.wait(function(resume)
    task.run(function()
      return sessions.request("session/compact", asked, session)
    end, resume)
  end)
  session.is_compacted_here, session.compaction = nil, nil
  if err then
    error(err, 0)
  end
  return result
end

--- Stops the compaction of a session. In a flow.
---@param session pid.Session
function M.cancel(session)
  sessions.need("session/cancelCompaction")
  local result = sessions.request("session/cancelCompaction", {}, session)
  if not result.cancelled then
    notify.info("no compaction is running")
  end
end

---@param session pid.Session
---@param plan pid.CompactionPlan
---@param params table
local function confirm(session, plan, params)
  require("pid.actions").go(function()
    local asked = vim.tbl_extend("force", params, { firstKeptEntryId = plan.firstKeptEntryId })
    vim.cmd.close()
    notify.info("compacting; :Pid cancel stops it")
    show_summary(session, M.run(session, asked))
  end)
end

---@param buf integer
---@param session pid.Session
---@param plan pid.CompactionPlan
---@param params table
local function map(buf, session, plan, params)
  local function key(lhs, desc, fn)
    vim.keymap.set("n", lhs, fn, { buffer = buf, nowait = true, desc = "pid: " .. desc })
  end
  key("<CR>", "compact", function()
    confirm(session, plan, params)
  end)
  key("i", "compact with instructions", function()
    vim.ui.input({ prompt = "The summary should look after: ", default = params.instructions }, function(text)
      if text then
        confirm(session, plan, vim.tbl_extend("force", params, { instructions = text ~= "" and text or nil }))
      end
    end)
  end)
  key("q", "leave it", "<Cmd>close<CR>")
end

---@param buf integer
---@param text pid.PlanText
local function colour(buf, text)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for _, place in ipairs(text.spans) do
    local line, span = place[1], place[2]
    vim.api.nvim_buf_set_extmark(buf, ns, line, span[1], { end_col = span[2], hl_group = span[3] })
  end
end

--- Shows what a compaction would do, to confirm or to leave. In a flow.
---@param session pid.Session
---@param params? table Of `session/compact`, such as `instructions`.
---@param split? string Modifiers as in `:help mods`.
function M.preview(session, params, split)
  sessions.need("session/previewCompaction")
  require("pid.highlights").set()
  params = params or {}
  local plan = sessions.request("session/previewCompaction", vim.deepcopy(params), session)
  local text = require("pid.plan").text(plan, nodes_of(session), config.options.tree.icons)
  local buf, is_new = window.buffer(("pid://%s/compaction"):format(session.id), "pid-compaction")
  window.replace(buf, is_new and { "" } or vim.api.nvim_buf_get_lines(buf, 0, -1, false), text.lines)
  colour(buf, text)
  vim.b[buf].pid_session = session.id
  map(buf, session, plan, params)
  local win = window.show(buf, split and split ~= "" and split or config.options.tree.split)
  window.set(
    win,
    { wrap = false, number = false, relativenumber = false, conceallevel = 2, concealcursor = "n" }
  )
  vim.api.nvim_win_set_cursor(win, { 1, 0 })
end

return M
