--- The tree windows: one buffer for each session, live, with cursor and folds kept by entry, not by line.
--- What a line looks like is `pid.render`'s, where it stands is `pid.layout`'s; this draws, and follows changes.

local config = require("pid.config")
local events = require("pid.events")
local layout = require("pid.layout")
local Model = require("pid.model")
local render = require("pid.render")
local sessions = require("pid.sessions")
local status = require("pid.status")
local window = require("pid.window")

local M = {}

---@class pid.Tree
---@field session pid.Session
---@field buf integer
---@field model pid.Model
---@field folded table<string, boolean>
---@field hide { tools: boolean, meta: boolean }
---@field is_hidden fun(node: pid.TreeNode): boolean
---@field rows pid.Rows
---@field lines string[]
---@field place table<string, integer> The line of each row.
---@field view pid.View
---@field loading boolean
---@field is_behind boolean Whether a change came that the model has not.
---@field draws_soon boolean
---@field texts table<pid.TreeNode, string>
---@field on_first? fun() Called once, when it is first drawn.

local trees = {} ---@type table<integer, pid.Tree>
local OLD_CURSOR = 1021
local META = {
  label = true,
  session_info = true,
  model_change = true,
  thinking_level_change = true,
  usage = true,
  custom = true,
}
local ns = vim.api.nvim_create_namespace("pid.tree")

---@param tree pid.Tree
---@param node pid.TreeNode
local function is_hidden(tree, node)
  return tree.hide.tools and node.role == "toolResult" or tree.hide.meta and META[node.type] or false
end

local function title(session)
  local place = vim.fn.fnamemodify(session.cwd, ":~")
  return session.name and ("%s  %s"):format(session.name, place) or place
end

-- Where an entry shows when filters or folds hide it: at the nearest ancestor that has a row.
---@param tree pid.Tree
---@param id? string
---@return string
local function row_of(tree, id)
  local shown = tree.model.shown
  id = id and shown[id] or ""
  while id ~= "" and not tree.place[id] do
    id = shown[tree.model.nodes[id].parentId or ""] or ""
  end
  return id
end

---@param tree pid.Tree
local function arrange(tree)
  local model = tree.model
  tree.rows = layout.rows(model.children, tree.folded)
  tree.place = {}
  for line, id in ipairs(tree.rows.ids) do
    tree.place[id] = line
  end
  tree.view = {
    model = model,
    path = model:path(model.leaf),
    leaf = row_of(tree, model.leaf),
    summarised = model:summarised(),
    icons = config.options.tree.icons,
    title = title(tree.session),
    texts = tree.texts,
  }
end

-- The cursor of each window by entry, and how far it is from the window's top.
---@param tree pid.Tree
local function cursors(tree)
  local found = {}
  for _, win in ipairs(vim.fn.win_findbuf(tree.buf)) do
    local line = vim.api.nvim_win_get_cursor(win)[1]
    local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    found[win] = { id = tree.rows.ids[line] or "", view = view }
  end
  return found
end

---@param tree pid.Tree
local function put_back(tree, found)
  for win, was in pairs(found) do
    local line = tree.place[row_of(tree, was.id)] or 1
    local last_top = #tree.rows.ids - vim.api.nvim_win_get_height(win) + 1
    was.view.topline = math.max(1, math.min(was.view.topline + line - was.view.lnum, last_top))
    was.view.lnum = line
    vim.api.nvim_win_call(win, function()
      vim.fn.winrestview(was.view)
    end)
  end
end

---@param tree pid.Tree
function M.draw(tree)
  if not vim.api.nvim_buf_is_valid(tree.buf) then
    return
  end
  local found = cursors(tree)
  arrange(tree)
  local lines = {}
  for index = 1, #tree.rows.ids do
    lines[index] = render.text(tree.rows, index, tree.view)
  end
  window.replace(tree.buf, tree.lines, lines)
  tree.lines = lines
  put_back(tree, found)
end

---@param tree pid.Tree
local function draw_soon(tree)
  if not tree.draws_soon then
    tree.draws_soon = true
    vim.schedule(function()
      tree.draws_soon = false
      M.draw(tree)
    end)
  end
end

local function pages(tree, model, params)
  repeat
    local page = sessions.request("session/getTree", params, tree.session)
    model:take(page)
    params = vim.tbl_extend("force", params, { cursor = page.nextCursor or vim.NIL })
  until not page.nextCursor
  return model
end

-- Reads what changed since the model's revision, or all of it where the daemon cannot tell.
---@param tree pid.Tree
---@param anew boolean
local function read(tree, anew)
  if anew or tree.model.epoch ~= tree.session.epoch then
    tree.model = pages(tree, Model.new(tree.is_hidden), {})
  else
    pages(tree, tree.model, { since = tree.model.revision, epoch = tree.model.epoch })
  end
end

--- Reads the tree and draws it. In a flow.
---@param tree pid.Tree
---@param anew? boolean Read all of it, not only what changed.
function M.refresh(tree, anew)
  if tree.loading then
    tree.is_behind = true
    return
  end
  tree.loading = true
  require("pid.task").run(function()
    repeat
      tree.is_behind = false
      read(tree, anew or false)
      anew = false
    until not tree.is_behind
  end, function(err)
    tree.loading = false
    if err and err.code == OLD_CURSOR then
      return M.refresh(tree, true)
    elseif err then
      return require("pid.notify").error(err)
    end
    M.draw(tree)
    if tree.on_first then
      tree.on_first()
      tree.on_first = nil
    end
  end)
end

---@param session pid.Session
---@return pid.Tree?
local function tree_of(session)
  for _, tree in pairs(trees) do
    if tree.session == session then
      return tree
    end
  end
end

events.on("change", function(data)
  local tree = tree_of(data.session)
  if not tree then
    return
  end
  local outcome = tree.loading and "gap" or tree.model:apply(data.change)
  if outcome == "gap" then
    M.refresh(tree)
  elseif outcome == "taken" then
    draw_soon(tree)
  end
end)

events.on("restart", function(data)
  local tree = tree_of(data.session)
  if tree then
    vim.b[tree.buf].pid_session = data.session.id
    M.refresh(tree, true)
  end
end)

events.on("close", function(data)
  local tree = tree_of(data.session)
  if tree and vim.api.nvim_buf_is_valid(tree.buf) then
    vim.api.nvim_buf_delete(tree.buf, { force = true })
  end
end)

-- Only the rows on the screen are coloured, at each redraw: a change of the leaf costs the same in any tree.
vim.api.nvim_set_decoration_provider(ns, {
  on_win = function(_, _, buf, top, bottom)
    local tree = trees[buf]
    if not tree or not tree.view then
      return false
    end
    local now = os.time()
    for line = top, math.min(bottom + 1, #tree.rows.ids - 1) do
      M.colour(tree, line, now)
    end
  end,
})

---@param tree pid.Tree
---@param line integer From 0.
---@param now integer
function M.colour(tree, line, now)
  local id = tree.rows.ids[line + 1]
  local function set(column, details)
    details.ephemeral = true
    pcall(vim.api.nvim_buf_set_extmark, tree.buf, ns, line, column, details)
  end
  if id == tree.view.leaf then
    set(0, { end_row = line + 1, end_col = 0, hl_group = "PidLeaf", hl_eol = true, priority = 10 })
  end
  for _, span in ipairs(render.spans(tree.rows, line + 1, tree.view)) do
    set(span[1], { end_col = span[2], hl_group = span[3], hl_mode = "combine", priority = 20 })
  end
  local node = tree.model.nodes[id]
  local time = node and render.time(node.timestamp, now, config.options.tree) or ""
  if time ~= "" then
    set(0, { virt_text = { { " " .. time, "PidTime" } }, virt_text_pos = "right_align", hl_mode = "combine" })
  end
end

-- The window.

--- What stands above the tree.
---@return string
function M.winbar()
  local tree = trees[vim.api.nvim_win_get_buf(vim.g.statusline_winid or 0)]
  if not tree then
    return ""
  end
  local hidden = {}
  for name, text in pairs({ tools = "tool results", meta = "metadata" }) do
    if tree.hide[name] then
      hidden[#hidden + 1] = text
    end
  end
  table.sort(hidden)
  local left = ("%d entries"):format(#tree.model.order)
  if #hidden > 0 then
    left = ("%s, without %s"):format(left, table.concat(hidden, " and "))
  end
  return ((" %s%%=%s "):format(left:gsub("%%", "%%%%"), (status.text(tree.session):gsub("%%", "%%%%"))))
end

---@param session pid.Session
---@return pid.Tree
local function make(session)
  local buf = window.buffer(("pid://%s/tree"):format(session.id), "pid-tree")
  local tree = trees[buf]
  if not tree then
    tree = {
      session = session,
      buf = buf,
      folded = {},
      hide = vim.deepcopy(config.options.tree.hide),
      rows = layout.rows({}, {}),
      lines = { "" },
      place = {},
      loading = false,
      is_behind = false,
      draws_soon = false,
      texts = setmetatable({}, { __mode = "k" }),
    }
    tree.is_hidden = function(node)
      return is_hidden(tree, node)
    end
    tree.model = Model.new(tree.is_hidden)
    trees[buf] = tree
    vim.b[buf].pid_session = session.id
    require("pid.tree_keys").map(tree)
    vim.api.nvim_create_autocmd("BufWipeout", {
      buffer = buf,
      callback = function()
        trees[buf] = nil
      end,
    })
  end
  return tree
end

--- Puts the cursor on the leaf.
---@param tree pid.Tree
function M.go_to_leaf(tree)
  local win = vim.fn.win_findbuf(tree.buf)[1]
  local line = tree.place[tree.view.leaf]
  if win and line then
    local height = vim.api.nvim_win_get_height(win)
    local top = math.min(line - math.floor(height / 2), #tree.rows.ids - height + 1)
    vim.api.nvim_win_call(win, function()
      vim.fn.winrestview({ lnum = line, col = 0, topline = math.max(1, top) })
    end)
  end
end

--- Shows the tree of a session, with the cursor on the leaf.
---@param session pid.Session
---@param split? string Modifiers as in `:help mods`.
---@return pid.Tree
function M.open(session, split)
  require("pid.highlights").set()
  local tree = make(session)
  local win = window.show(tree.buf, split ~= "" and split or config.options.tree.split)
  window.set(win, {
    wrap = false,
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    list = false,
    spell = false,
    cursorline = true,
    winbar = "%{%v:lua.require'pid.tree'.winbar()%}",
  })
  tree.on_first = function()
    M.go_to_leaf(tree)
  end
  M.refresh(tree, #tree.model.order == 0)
  return tree
end

--- The entry under the cursor of a tree window; nil elsewhere. "" is the place before the first entry.
---@return string?
---@return pid.Tree?
function M.under_cursor()
  local tree = trees[vim.api.nvim_get_current_buf()]
  if tree then
    return tree.rows.ids[vim.api.nvim_win_get_cursor(0)[1]], tree
  end
end

---@param tree pid.Tree
---@param name "tools"|"meta"
function M.toggle_hidden(tree, name)
  tree.hide[name] = not tree.hide[name]
  tree.model:filter(tree.is_hidden)
  M.draw(tree)
end

return M
