--- A session's tree in memory: the nodes as the daemon sent them, who hangs on whom, and the leaf.
--- Pure: it asks nobody and draws nothing. Parents come before their children, so nothing recurses.

---@class pid.Model
---@field nodes table<string, pid.TreeNode>
---@field order string[] All ids, parents before children.
---@field leaf? string
---@field revision integer
---@field epoch string
---@field is_hidden fun(node: pid.TreeNode): boolean
---@field children table<string, string[]> The shown ids by parent, siblings in the order of their times.
---@field shown table<string, string> Each id itself, or its nearest ancestor that is shown ("": none).
---@field unsorted table<string, true> Parents whose children are not yet in order.
local Model = {}
Model.__index = Model

local function hide_none()
  return false
end

---@param is_hidden? fun(node: pid.TreeNode): boolean
---@return pid.Model
function Model.new(is_hidden)
  local model = setmetatable({ nodes = {}, order = {}, revision = 0, epoch = "" }, Model)
  model:filter(is_hidden or hide_none)
  return model
end

---@param node pid.TreeNode
function Model:put(node)
  local is_new = not self.nodes[node.id]
  self.nodes[node.id] = node
  if is_new then
    self.order[#self.order + 1] = node.id
    self:link(node)
  end
end

--- Takes a page of `session/getTree`.
---@param page pid.TreeResult
function Model:take(page)
  for _, node in ipairs(page.nodes) do
    self:put(node)
  end
  self:settle()
  self.leaf, self.revision, self.epoch = page.leafId, page.revision, page.epoch
end

--- Takes a notification. Says "old" if it tells nothing new, "gap" if something before it is missing.
---@param change pid.DidChangeNotice
---@return "taken"|"old"|"gap"
function Model:apply(change)
  if change.epoch == self.epoch and change.revision <= self.revision then
    return "old"
  elseif change.epoch ~= self.epoch or change.revision > self.revision + 1 or change.truncated then
    return "gap"
  end
  for _, nodes in ipairs({ change.added, change.changed }) do
    for _, node in ipairs(nodes) do
      self:put(node)
    end
  end
  self:settle()
  self.leaf, self.revision = change.leafId, change.revision
  return "taken"
end

--- The ids of the path to an entry, as a set.
---@param id? string
---@return table<string, true>
function Model:path(id)
  local path = {}
  while id and not path[id] do
    path[id] = true
    id = self.nodes[id] and self.nodes[id].parentId
  end
  return path
end

--- The entries of the leaf's path that its last compaction stands for, as a set.
---@return table<string, true>
function Model:summarised()
  local id = self.leaf
  while id and self.nodes[id] and self.nodes[id].type ~= "compaction" do
    id = self.nodes[id].parentId
  end
  local compaction = id and self.nodes[id]
  if not compaction then
    return {}
  end
  local kept = compaction.firstKeptEntryId
  id = compaction.parentId
  local kept_path = self:path(id)
  if kept ~= compaction.id and not kept_path[kept or ""] then
    return {} -- what it kept is missing: the daemon shows a tail of its own choice
  end
  if kept ~= compaction.id then
    id = self.nodes[kept].parentId
  end
  return self:path(id)
end

--- Shows the nodes that are not hidden: `children` and `shown` are made anew, and kept up from then on.
--- What hangs on a hidden node hangs on the nearest shown one; roots stand under "".
---@param is_hidden fun(node: pid.TreeNode): boolean It depends on what never changes: type and role.
function Model:filter(is_hidden)
  self.is_hidden = is_hidden
  self.children, self.shown, self.unsorted = { [""] = {} }, {}, {}
  for _, id in ipairs(self.order) do
    self:link(self.nodes[id])
  end
  self:settle()
end

---@param node pid.TreeNode
function Model:link(node)
  local id = node.id
  local parent = node.parentId and self.shown[node.parentId] or ""
  if self.is_hidden(node) then
    self.shown[id] = parent
    return
  end
  self.shown[id] = id
  local siblings = self.children[parent]
  if not siblings then
    self.children[parent] = { id }
    return
  end
  local last = self.nodes[siblings[#siblings]]
  if last and (last.timestamp or "") > (node.timestamp or "") then
    self.unsorted[parent] = true
  end
  siblings[#siblings + 1] = id
end

--- Puts siblings in the order of their times, those of one time in the order in which they came.
function Model:settle()
  for parent in pairs(self.unsorted) do
    local siblings, places = self.children[parent], {}
    for place, id in ipairs(siblings) do
      places[id] = place
    end
    table.sort(siblings, function(a, b)
      local time_a, time_b = self.nodes[a].timestamp or "", self.nodes[b].timestamp or ""
      if time_a ~= time_b then
        return time_a < time_b
      end
      return places[a] < places[b]
    end)
  end
  self.unsorted = {}
end

return Model
