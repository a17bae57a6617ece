--- The colours: links to groups that every colour scheme has. A scheme or the user may set them otherwise.

local M = {}

local LINKS = {
  PidTitle = "Title",
  PidGraph = "NonText",
  PidPath = "Special",
  PidLeaf = "Visual",
  PidUser = "Function",
  PidTool = "Identifier",
  PidSummary = "String",
  PidMeta = "Comment",
  PidSummarised = "Comment",
  PidLabel = "WarningMsg",
  PidError = "ErrorMsg",
  PidFolded = "Folded",
  PidTime = "Comment",
}

function M.set()
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
  vim.api.nvim_set_hl(0, "PidAssistant", { default = true }) -- as any text: `Normal` would hide the leaf's colour
end

return M
