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

---@param depth integer
---@param is_head boolean
---@return string
local function graph(depth, is_head)
  if depth == 0 then
    return ""
  elseif depth > DEEPEST then
    return COLUMN:rep(DEEPEST - 1) .. (is_head and "├⋯" or "│⋯")
  end
  return COLUMN:rep(depth - 1) .. (is_head and "├─" or COLUMN)
end

---@param row pid.Row
---@param view pid.View
---@return string
local function mark(row, view)
  local node = view.model.nodes[row.id]
  if row.folded then
    return MARKS.folded
  elseif node and node.damaged then
    return MARKS.damaged
  elseif row.id == view.leaf then
    return MARKS.leaf
  end
  return (view.path[row.id] or row.id == "") and MARKS.path or MARKS.other
end

---@param node pid.TreeNode
---@return string
local function said(node)
  local name = NAMES[node.type] or node.customType
  local text = node.preview or (node.damaged and "this line of the file cannot be read") or ""
  if node.role == "toolResult" and node.toolName then
    name = node.toolName
  elseif not node.role and not NAMES[node.type] and not HIGHLIGHTS[node.type] then
    name = name or node.type
  end
  return name and ("%s: %s"):format(name, text) or text
end

---@param row pid.Row
---@param view pid.View
---@return [string, string?][] parts Pieces of the line, each with its highlight.
local function parts(row, view)
  local on_path = view.path[row.id]
  local lead = {
    { graph(row.depth, row.is_head), "PidGraph" },
    { mark(row, view), (on_path or row.id == "") and "PidPath" or "PidGraph" },
    { " " },
  }
  local node = view.model.nodes[row.id]
  if not node then
    return vim.list_extend(lead, { { view.title, "PidTitle" } })
  end
  local kind = node.role or node.type
  local dim = view.summarised[row.id] and "PidSummarised" or nil
  local group = dim
    or (node.isError or node.damaged or node.stopReason == "error") and "PidError"
    or HIGHLIGHTS[kind]
    or "PidMeta"
  vim.list_extend(lead, {
    { view.icons[kind] or view.icons[node.type] or view.icons.other, dim or HIGHLIGHTS[kind] or "PidMeta" },
    { " " },
  })
  if node.label then
    vim.list_extend(lead, { { "[" .. node.label .. "]", "PidLabel" }, { " " } })
  end
  lead[#lead + 1] = { said(node), group }
  if row.folded then
    lead[#lead + 1] = { ("  +%d"):format(row.folded), "PidFolded" }
  end
  return lead
end

---@param row pid.Row
---@param view pid.View
---@return string
function M.text(row, view)
  local texts = {}
  for index, part in ipairs(parts(row, view)) do
    texts[index] = part[1]
  end
  return (table.concat(texts):gsub("[\n%z]", " "))
end

--- The highlights of a row, as byte ranges.
---@param row pid.Row
---@param view pid.View
---@return [integer, integer, string][]
function M.spans(row, view)
  local spans, start = {}, 0
  for _, part in ipairs(parts(row, view)) do
    local stop = start + #part[1]
    if part[2] and stop > start then
      spans[#spans + 1] = { start, stop, part[2] }
    end
    start = stop
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
