--- Entries and messages as Markdown for people: tool calls and results readable, nothing left out. Pure.

local M = {}

---@param text any
---@return string[]
local function lines_of(text)
  return vim.split(tostring(text or ""):gsub("\r\n?", "\n"), "\n")
end

--- A code block whose fence is longer than any inside it.
---@param text string
---@param language? string
---@return string[]
function M.fenced(text, language)
  local longest = 2
  for ticks in text:gmatch("`+") do
    longest = math.max(longest, #ticks)
  end
  local fence = ("`"):rep(longest + 1)
  local lines = { fence .. (language or "") }
  vim.list_extend(lines, lines_of((text:gsub("\n$", ""))))
  lines[#lines + 1] = fence
  return lines
end

local function is_plain(value)
  return type(value) ~= "table" or next(value) == nil
end

-- The members of an object or a list, in order, each with what stands before its value.
local function members(value)
  local list = vim.islist(value)
  local keys = list and vim.fn.range(1, #value) or vim.tbl_keys(value)
  if not list then
    table.sort(keys, function(a, b)
      return tostring(a) < tostring(b)
    end)
  end
  return vim.tbl_map(function(key)
    return { lead = list and "" or vim.json.encode(tostring(key)) .. ": ", value = value[key] }
  end, keys),
    list and "[" or "{",
    list and "]" or "}"
end

--- Any JSON value, indented, with sorted keys, to any depth.
---@param value any
---@return string
function M.json(value)
  local out, stack = {}, { { value = value, indent = "", lead = "", tail = "" } }
  while #stack > 0 do
    local item = table.remove(stack)
    if item.closes then
      out[#out + 1] = item.closes
    elseif is_plain(item.value) then
      out[#out + 1] = item.lead .. vim.json.encode(item.value) .. item.tail
    else
      local parts, opens, closes = members(item.value)
      local indent = item.indent .. "  "
      out[#out + 1] = item.lead .. opens
      stack[#stack + 1] = { closes = item.indent .. closes .. item.tail }
      for index = #parts, 1, -1 do
        local part, tail = parts[index], index < #parts and "," or ""
        stack[#stack + 1] = { value = part.value, indent = indent, lead = indent .. part.lead, tail = tail }
      end
    end
  end
  return table.concat(out, "\n")
end

---@param arguments any
---@return string[]
local function arguments_of(arguments)
  if type(arguments) ~= "table" then
    return M.fenced(vim.json.encode(arguments), "json")
  end
  local lines, keys = {}, vim.tbl_keys(arguments)
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, key in ipairs(keys) do
    local value = arguments[key]
    if type(value) == "string" and value:find("\n") then
      lines[#lines + 1] = ("- **%s**"):format(key)
      vim.list_extend(lines, M.fenced(value))
    elseif type(value) ~= "table" then
      lines[#lines + 1] = ("- **%s** `%s`"):format(key, tostring(value))
    else
      lines[#lines + 1] = ("- **%s**"):format(key)
      vim.list_extend(lines, M.fenced(M.json(value), "json"))
    end
  end
  return lines
end

local BLOCKS = {
  text = function(block)
    return lines_of(block.text)
  end,
  thinking = function(block)
    local text = block.redacted and "(hidden by the provider)" or block.thinking
    return vim.tbl_map(function(line)
      return "> " .. line
    end, lines_of(text))
  end,
  toolCall = function(block)
    local lines = { ("**call** `%s`"):format(block.name or "?") }
    return vim.list_extend(lines, arguments_of(block.arguments))
  end,
  tool_use = function(block)
    local lines = { ("**call** `%s`"):format(block.name or "?") }
    return vim.list_extend(lines, arguments_of(block.input))
  end,
  tool_result = function(block)
    local lines = { ("**%s**"):format(block.is_error and "failed" or "result") }
    return vim.list_extend(lines, M.result(block.content))
  end,
  image = function(block)
    local size = type(block.data) == "string" and math.floor(#block.data * 3 / 4 / 1024) or 0
    return { ("(image, %s, %d KB)"):format(block.mimeType or "unknown type", size) }
  end,
}

--- Content: a text, or blocks with an empty line between them.
---@param content any
---@return string[]
function M.content(content)
  if type(content) ~= "table" then
    return lines_of(content ~= vim.NIL and content or "")
  elseif next(content) == nil then
    return { "(empty)" }
  elseif not vim.islist(content) then
    return M.fenced(M.json(content), "json")
  end
  local lines = {}
  for _, block in ipairs(content) do
    if #lines > 0 then
      lines[#lines + 1] = ""
    end
    local show = type(block) == "table" and BLOCKS[block.type]
    vim.list_extend(lines, show and show(block) or M.fenced(M.json(block), "json"))
  end
  return lines
end

--- What a tool answered: text of programs, not Markdown, so each text stands in a fence.
---@param content any
---@return string[]
function M.result(content)
  if type(content) == "table" and (next(content) == nil or not vim.islist(content)) then
    return M.content(content)
  end
  local blocks = type(content) == "table" and content or { { type = "text", text = content } }
  local lines = {}
  for _, block in ipairs(blocks) do
    local is_text = type(block) == "table" and block.type == "text"
    vim.list_extend(lines, is_text and M.fenced(tostring(block.text)) or M.content({ block }))
  end
  return lines
end

local function files(details)
  local lines = {}
  for _, part in ipairs({ { "readFiles", "Files read" }, { "modifiedFiles", "Files modified" } }) do
    local names = type(details) == "table" and details[part[1]] or {}
    if type(names) == "table" and #names > 0 then
      vim.list_extend(lines, { "", "**" .. part[2] .. "**", "" })
      for _, name in ipairs(names) do
        lines[#lines + 1] = ("- `%s`"):format(tostring(name))
      end
    end
  end
  return lines
end
M.files = files

local function summary(record)
  return vim.list_extend(lines_of(record.summary), files(record.details))
end

local MESSAGES = {
  assistant = function(message)
    local content = message.content
    if not message.errorMessage then
      return M.content(content)
    end
    local lines = type(content) == "table" and next(content) and M.content(content) or {}
    return vim.list_extend(lines, { "**error** " .. tostring(message.errorMessage) })
  end,
  toolResult = function(message)
    local lines =
      { ("**%s** `%s`"):format(message.isError and "failed" or "result", message.toolName or "?") }
    return vim.list_extend(lines, M.result(message.content))
  end,
  bashExecution = function(message)
    local lines = M.fenced("$ " .. (message.command or ""), "sh")
    vim.list_extend(lines, M.fenced(message.output or ""))
    if message.exitCode and message.exitCode ~= 0 then
      lines[#lines + 1] = ("exit code %s"):format(message.exitCode)
    end
    return lines
  end,
  compactionSummary = summary,
  branchSummary = summary,
}

--- An agent's message.
---@param message any
---@return string[]
function M.message(message)
  if type(message) ~= "table" then
    return { "(no message)" }
  end
  local show = MESSAGES[message.role]
  return show and show(message) or M.content(message.content)
end

local ENTRIES = {
  message = function(entry)
    return M.message(entry.message)
  end,
  compaction = summary,
  branch_summary = summary,
  custom_message = function(entry)
    return M.content(entry.content)
  end,
}

--- An entry as it is stored. Types without a form of their own are shown as JSON.
---@param entry table
---@return string[]
function M.entry(entry)
  local show = ENTRIES[entry.type]
  return show and show(entry) or M.fenced(M.json(entry), "json")
end

return M
