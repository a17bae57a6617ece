--- What a key of the tree window, or a command, does to a session. Each runs as a flow; what goes wrong is one line.

local notify = require("pid.notify")
local sessions = require("pid.sessions")
local task = require("pid.task")

local M = {}

--- Runs a flow and tells what it raised; giving up is no error.
---@param flow fun()
function M.go(flow)
  task.run(flow, function(err)
    if err and not sessions.was_cancelled(err) then
      notify.error(err)
    elseif err then
      notify.info("cancelled, nothing was written")
    end
  end)
end

local function entry_of(id)
  return id ~= "" and id or nil
end

---@param tree pid.Tree
---@param id string
function M.move(tree, id)
  M.go(function()
    sessions.set_leaf(tree.session, entry_of(id))
  end)
end

---@param tree pid.Tree
---@param id string
function M.move_with_summary(tree, id)
  M.go(function()
    sessions.need("session/compact") -- a daemon that has one has the other
    local instructions = task.input({ prompt = "Summarise the branch that is left; look after (optional): " })
    if instructions then
      local summarize = instructions == "" or { instructions = instructions }
      local token = "pid-summary-" .. vim.uv.hrtime()
      sessions.set_leaf(tree.session, entry_of(id), { summarize = summarize, workDoneToken = token })
    end
  end)
end

--- Labels an entry; an empty text takes the label off.
---@param session pid.Session
---@param id string
---@param text string
function M.set_label(session, id, text)
  sessions.append(session, { type = "label", targetId = id, label = text ~= "" and text or nil })
end

---@param tree pid.Tree
---@param id string
function M.label(tree, id)
  if id == "" then
    return notify.info("the place before the first entry cannot be labelled")
  end
  M.go(function()
    local text = task.input({ prompt = "Label: ", default = tree.model.nodes[id].label })
    if text then
      M.set_label(tree.session, id, vim.trim(text))
    end
  end)
end

--- An entry for a message of the user, said now.
---@param text string
---@return table
function M.user_message(text)
  local seconds, micros = vim.uv.gettimeofday()
  local timestamp = seconds * 1000 + math.floor(micros / 1000)
  local message = { role = "user", content = { { type = "text", text = text } }, timestamp = timestamp }
  return { type = "message", message = message }
end

---@param tree pid.Tree
function M.append(tree)
  M.go(function()
    local text = task.input({ prompt = "Message: " })
    if text and vim.trim(text) ~= "" then
      sessions.append(tree.session, M.user_message(text))
    end
  end)
end

--- A new session of the path to an entry, and its tree. In a flow.
---@param session pid.Session
---@param id? string The leaf by default.
function M.fork_session(session, id)
  local fork = sessions.open("session/fork", { sessionId = session.id, entryId = id or session.leaf })
  notify.info("forked into " .. vim.fn.fnamemodify(fork.path, ":t"))
  return fork
end

---@param tree pid.Tree
---@param id string
function M.fork(tree, id)
  M.go(function()
    local fork = M.fork_session(tree.session, entry_of(id))
    require("pid.tree").open(fork, "tab")
  end)
end

---@param tree pid.Tree
---@param id string
function M.show(tree, id)
  if id == "" then
    return
  end
  M.go(function()
    local result = sessions.request("session/getEntries", { ids = { id } }, tree.session)
    local entry = result.entries[1]
    local lines = entry == vim.NIL and { "This line of the file cannot be read (:Pid log)." }
      or require("pid.markdown").entry(entry)
    local node = tree.model.nodes[id]
    local time = (node.timestamp or ""):gsub("T", " "):sub(1, 19)
    local title = vim.trim(table.concat({ node.role or node.type, node.id, time }, "  "))
    require("pid.window").float(lines, { title = title, is_markdown = true })
  end)
end

---@param tree pid.Tree
function M.preview_compaction(tree)
  M.go(function()
    require("pid.compaction").preview(tree.session)
  end)
end

---@param tree pid.Tree
---@param id string
function M.context_here(tree, id)
  M.go(function()
    require("pid.context").open(tree.session, { leafId = entry_of(id) or vim.NIL })
  end)
end

return M
