import { describe, test } from 'vitest'

describe('Discovery', () => {
  test.todo(
    '[15.1-1] tools.discovery {enabled: "auto" | true | false, max_tool_tokens (8,000), always?: [patterns]}: when the offered tools exceed the budget, the model gets search_tools {query, limit?}, the always tools and the best matches for the user\'s message',
  )
  test.todo('[15.1-2] Found tools are appended, never re-ordered, and join the offer from the next turn')
  test.todo('[15.1-3] Permission and the validation gate apply to found tools')
  test.todo("[15.1-4] The same search is GET /api/tools/search?q=, toolyard tools --search and the page's search")
  test.todo('[15.1-5] Over MCP (?discovery=true) the search is search_tools and call_tool')
})
