--- The keys of a tree window: one table, from which the mappings and the help are made.

local actions = require("pid.actions")
local window = require("pid.window")

local M = {}

-- The heads of the side branches that leave from an entry.
---@param tree pid.Tree
local function side_branches(tree, id)
  local below = tree.model.children[id] or {}
  return vim.list_slice(below, 1, #below - 1)
end

---@param tree pid.Tree
---@param heads string[]
---@param fold boolean
local function fold(tree, heads, fold_them)
  for _, head in ipairs(heads) do
    tree.folded[head] = fold_them or nil
  end
  require("pid.tree").draw(tree)
end

-- In a side branch: that branch. In the trunk: the branches that leave from the entry.
---@param tree pid.Tree
---@param want? boolean Nil toggles.
local function fold_here(tree, want)
  local id = require("pid.tree").under_cursor()
  local head = tree.rows.heads[tree.place[id]]
  local heads = head ~= "" and { head } or side_branches(tree, id)
  if #heads == 0 then
    return require("pid.notify").info("no branch leaves from here")
  end
  if want == nil then
    want = not tree.folded[heads[1]]
  end
  fold(tree, heads, want)
end

---@param tree pid.Tree
local function fold_all(tree, want)
  local heads = {}
  for id in pairs(tree.model.children) do
    vim.list_extend(heads, side_branches(tree, id))
  end
  fold(tree, heads, want)
end

---@class pid.Key
---@field [1] string
---@field [2] string What it does.
---@field [3] fun(tree: pid.Tree, id: string)

---@type pid.Key[]
M.keys = {
  { "<CR>", "move the leaf here: the next entry attaches to this one", actions.move },
  { "s", "move the leaf here, with a summary of the branch that is left", actions.move_with_summary },
  { "l", "label this entry (empty: take the label off)", actions.label },
  { "a", "append a message of the user at the leaf", actions.append },
  { "f", "fork: a new session of the path to this entry", actions.fork },
  { "K", "show the whole entry", actions.show },
  { "c", "preview a compaction", actions.preview_compaction },
  { "C", "show the context as the model sees it at this entry", actions.context_here },
  {
    "za",
    "fold or unfold the branch",
    function(tree)
      fold_here(tree)
    end,
  },
  {
    "zc",
    "fold the branch",
    function(tree)
      fold_here(tree, true)
    end,
  },
  {
    "zo",
    "unfold the branch",
    function(tree)
      fold_here(tree, false)
    end,
  },
  {
    "zM",
    "fold all side branches",
    function(tree)
      fold_all(tree, true)
    end,
  },
  {
    "zR",
    "unfold all",
    function(tree)
      fold_all(tree, false)
    end,
  },
  {
    "t",
    "show or hide tool results",
    function(tree)
      require("pid.tree").toggle_hidden(tree, "tools")
    end,
  },
  {
    "m",
    "show or hide metadata (labels, names, models, …)",
    function(tree)
      require("pid.tree").toggle_hidden(tree, "meta")
    end,
  },
  {
    "gl",
    "go to the leaf",
    function(tree)
      require("pid.tree").go_to_leaf(tree)
    end,
  },
  {
    "R",
    "read all anew",
    function(tree)
      require("pid.tree").refresh(tree, true)
    end,
  },
  {
    "q",
    "close the window",
    function()
      vim.cmd.close()
    end,
  },
  {
    "g?",
    "this help",
    function()
      M.help()
    end,
  },
}

--- The help, as a float.
function M.help()
  local lines = {}
  for _, key in ipairs(M.keys) do
    lines[#lines + 1] = ("  %-6s %s"):format(key[1], key[2])
  end
  vim.list_extend(lines, {
    "",
    "  ◉ the leaf   ● on its path   ○ elsewhere   ▸ folded   ✗ damaged",
  })
  window.float(lines, { title = "pid tree" })
end

---@param tree pid.Tree
function M.map(tree)
  for _, key in ipairs(M.keys) do
    vim.keymap.set("n", key[1], function()
      local id = require("pid.tree").under_cursor()
      if id then
        key[3](tree, id)
      end
    end, { buffer = tree.buf, nowait = true, desc = "pid: " .. key[2] })
  end
end

return M
