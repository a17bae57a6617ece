--- A row of the tree as one line of text, and the colours of its parts. Pure.

local M = {}

local DEEPEST = 12 -- further columns are drawn as one, so that no line grows with the depth of the tree
local COLUMN = "│ "

local MARKS = { leaf = "◉", path = "●", other = "○", damaged = "✗", folded = "▸" }

---@class pid.View
---@field model pid.Model
---@field path table<string, true> The path to the leaf.
---@field leaf string The row that shows the leaf.
---@field summarised table<string, true>
---@field icons table<string, string>
---@field title string The text of the first row.
---@field texts table<pid.TreeNode, string> What was made of each node; forgotten with it.

local HIGHLIGHTS = {
  user = "PidUser",
  assistant = "PidAssistant",
  toolResult = "PidTool",
  bashExecution = "PidTool",
  compaction = "PidSummary",
  branch_summary = "PidSummary",
}

-- The names of entries without a text of their own.
local NAMES = {
  label = "label",
  session_info = "name",
  thinking_level_change = "thinking",
  model_change = "model",
  context_edit = "edit",
  usage = "usage",
  custom = "custom",
}

-- What stands left of the mark, by depth, for heads of branches and for others.
local GRAPHS = { [true] = { [0] = "" }, [false] = { [0] = "" } }
for depth = 1, DEEPEST do
  GRAPHS[true][depth] = COLUMN:rep(depth - 1) .. "├─"
  GRAPHS[false][depth] = COLUMN:rep(depth)
end
local DEEP_GRAPHS = { [true] = COLUMN:rep(DEEPEST) .. "├⋯", [false] = COLUMN:rep(DEEPEST) .. "│⋯" }

---@param rows pid.Rows
---@param index integer
---@return string
local function graph(rows, index)
  local is_head = rows.heads[index] == rows.ids[index]
  local depth = rows.depths[index]
  return GRAPHS[is_head][depth] or DEEP_GRAPHS[is_head]
end

---@param rows pid.Rows
---@param index integer
---@param view pid.View
---@return string
local function mark(rows, index, view)
  local id = rows.ids[index]
  if rows.folded[index] then
    return MARKS.folded
  elseif id == view.leaf then
    return MARKS.leaf
  elseif id == "" or view.path[id] then
    return MARKS.path
  end
  return view.model.nodes[id].damaged and MARKS.damaged or MARKS.other
end

---@param node pid.TreeNode
---@return string
local function said(node)
  local name = NAMES[node.type] or node.customType
  local text = node.preview or (node.damaged and "this line of the file cannot be read") or nil
  if node.role == "toolResult" then
    name = node.toolName
  elseif not node.role and not NAMES[node.type] and not HIGHLIGHTS[node.type] then
    name = name or node.type
  end
  if not name then
    return text or ("(%s)"):format(node.role or node.type)
  end
  return text and ("%s: %s"):format(name, text) or name
end

--- The parts of a node that are its own, wherever it stands, each with its highlight.
---@param node pid.TreeNode
---@param icons table<string, string>
---@return [string, string?][]
function M.node(node, icons)
  local kind = node.role or node.type
  local group = HIGHLIGHTS[kind] or "PidMeta"
  local failed = node.isError or node.damaged or node.stopReason == "error"
  local found = { { icons[kind] or icons[node.type] or icons.other, group }, { " " } }
  if node.label then
    found[3], found[4] = { "[" .. node.label .. "]", "PidLabel" }, { " " }
  end
  found[#found + 1] = { said(node), failed and "PidError" or group }
  return found
end

---@class pid.Span
---@field [1] integer The first byte, from 0.
---@field [2] integer The byte behind the last.
---@field [3] string The highlight.

--- Parts as one line, and the highlights in it.
---@param all [string, string?][]
---@return { text: string, spans: pid.Span[] }
function M.joined(all)
  local texts, spans, start = {}, {}, 0
  for index, part in ipairs(all) do
    local stop = start + #part[1]
    if part[2] and stop > start then
      spans[#spans + 1] = { start, stop, part[2] }
    end
    texts[index], start = part[1], stop
  end
  return { text = (table.concat(texts):gsub("[\n%z]", " ")), spans = spans }
end

---@param node pid.TreeNode
---@param view pid.View
---@return string
local function own_text(node, view)
  local text = view.texts[node]
  if not text then
    text = M.joined(M.node(node, view.icons)).text
    view.texts[node] = text
  end
  return text
end

---@param rows pid.Rows
---@param index integer
---@return string
local function folded(rows, index)
  local count = rows.folded[index]
  return count and ("  +%d"):format(count) or ""
end

--- A row as a line. Texts of nodes are kept in `view.texts`, so that drawing again costs one joint a row.
---@param rows pid.Rows
---@param index integer
---@param view pid.View
---@return string
function M.text(rows, index, view)
  local id = rows.ids[index]
  local text = id == "" and view.title or own_text(view.model.nodes[id], view)
  return graph(rows, index) .. mark(rows, index, view) .. " " .. text .. folded(rows, index)
end

---@param rows pid.Rows
---@param index integer
---@param view pid.View
---@return [string, string?][]
local function all_parts(rows, index, view)
  local id = rows.ids[index]
  local group = (id == "" or view.path[id]) and "PidPath" or "PidGraph"
  local all = { { graph(rows, index), "PidGraph" }, { mark(rows, index, view), group }, { " " } }
  vim.list_extend(
    all,
    id == "" and { { view.title, "PidTitle" } } or M.node(view.model.nodes[id], view.icons)
  )
  all[#all + 1] = { folded(rows, index), "PidFolded" }
  return all
end

local NEVER_DIM = { PidGraph = true, PidPath = true, PidLabel = true }

--- The highlights of a row, as byte ranges.
---@param rows pid.Rows
---@param index integer
---@param view pid.View
---@return pid.Span[]
function M.spans(rows, index, view)
  local spans = M.joined(all_parts(rows, index, view)).spans
  if view.summarised[rows.ids[index]] then
    for _, span in ipairs(spans) do
      span[3] = NEVER_DIM[span[3]] and span[3] or "PidSummarised"
    end
  end
  return spans
end

local function days_from_civil(year, month, day)
  year = month <= 2 and year - 1 or year
  local era = math.floor(year / 400)
  local of_era = year - era * 400
  local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

--- Seconds since 1970 of an ISO 8601 time in UTC; nil for any other text.
---@param timestamp? string
---@return integer?
function M.seconds(timestamp)
  local year, month, day, hour, minute, second = (timestamp or ""):match(
    "^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d).*Z$"
  )
  if not year then
    return nil
  end
  local days = days_from_civil(tonumber(year), tonumber(month), tonumber(day))
  return days * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + tonumber(second)
end

--- The time of a row as people read it: of today the time, of other days the date as well.
---@param timestamp? string
---@param now integer Seconds since 1970.
---@param formats { time: string, date: string }
---@return string
function M.time(timestamp, now, formats)
  local seconds = M.seconds(timestamp)
  if not seconds then
    return ""
  end
  local same_day = os.date("%Y%j", seconds) == os.date("%Y%j", now)
  local same_year = os.date("%Y", seconds) == os.date("%Y", now)
  local time = os.date(formats.time, seconds)
  if same_day then
    return tostring(time)
  end
  return ("%s%s %s"):format(os.date(formats.date, seconds), same_year and "" or os.date(" %Y", seconds), time)
end

return M
