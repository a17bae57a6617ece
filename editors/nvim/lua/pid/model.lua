--- A session's tree in memory: the nodes as the daemon sent them, who hangs on whom, and the leaf.
--- Pure: it asks nobody and draws nothing. Parents come before their children, so nothing recurses.

---@class pid.Model
---@field nodes table<string, pid.TreeNode>
---@field order string[] All ids, parents before children.
---@field leaf? string
---@field revision integer
---@field epoch string
local Model = {}
Model.__index = Model

---@param epoch? string
---@return pid.Model
function Model.new(epoch)
  return setmetatable({ nodes = {}, order = {}, revision = 0, epoch = epoch or "" }, Model)
end

---@param node pid.TreeNode
function Model:put(node)
  if not self.nodes[node.id] then
    self.order[#self.order + 1] = node.id
  end
  self.nodes[node.id] = node
end

--- Takes a page of `session/getTree`.
---@param page pid.TreeResult
function Model:take(page)
  for _, node in ipairs(page.nodes) do
    self:put(node)
  end
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

--- The ids by parent, without the nodes that are hidden; what hangs on a hidden node hangs on the nearest shown one.
--- The roots stand under "". Siblings are in the order of their times.
---@param is_hidden fun(node: pid.TreeNode): boolean
---@return table<string, string[]> children
---@return table<string, string> shown For each id itself, or the nearest ancestor that is shown ("": none).
function Model:children(is_hidden)
  local children, shown, nodes = { [""] = {} }, {}, self.nodes
  local unsorted = {}
  for _, id in ipairs(self.order) do
    local node = nodes[id]
    local parent = node.parentId and shown[node.parentId] or ""
    if is_hidden(node) then
      shown[id] = parent
    else
      shown[id] = id
      local siblings = children[parent]
      if not siblings then
        children[parent] = { id }
      else
        local last = nodes[siblings[#siblings]]
        siblings[#siblings + 1] = id
        unsorted[parent] = unsorted[parent] or (last and (last.timestamp or "") > (node.timestamp or ""))
      end
    end
  end
  for parent, is_unsorted in pairs(unsorted) do
    if is_unsorted then
      Model.sort(children[parent], nodes)
    end
  end
  return children, shown
end

---@param siblings string[]
---@param nodes table<string, pid.TreeNode>
function Model.sort(siblings, nodes)
  local place = {}
  for index, id in ipairs(siblings) do
    place[id] = index
  end
  table.sort(siblings, function(a, b)
    local time_a, time_b = nodes[a].timestamp or "", nodes[b].timestamp or ""
    if time_a ~= time_b then
      return time_a < time_b
    end
    return place[a] < place[b]
  end)
end

return Model
