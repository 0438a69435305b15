import { describe, test } from 'vitest'

describe('Versions', () => {
  test.todo('[14.1-1] Several definitions may share a name if their version differs')
  test.todo('[14.1-2] Versions are semver. A definition without one is 0.0.0')
  test.todo('[14.1-3] The current version is rollout.current, else the highest that is not a pre-release')
  test.todo('[14.1-4] A call of name takes the current version, name@version exactly that one')
  test.todo('[14.1-5] Models see one tool per name')
  test.todo('[14.1-6] With deprecated {since?, remove_after?, message?, use?}, calls still run and carry warnings')
  test.todo('[14.1-7] Models are not offered deprecated tools unless pinned')
  test.todo(
    '[14.1-8] migrate [{from, rename?, defaults?, drop?}] brings parameters of an older version into the newer form before validation',
  )
  test.todo(
    '[14.1-9] MCP definitions that change while pinned become a new version that waits for toolyard mcp approve or the page',
  )
  test.todo(
    '[14.1-10] tools.rollout {<name>: {current, candidate?, percent?, by?: "call" | "session" | "tenant"}} can be changed at run time: toolyard rollout show|start|promote|rollback, REST /api/tools/:name/rollout',
  )
  test.todo(
    '[14.1-11] With session (session id, else key) and tenant a caller stays with its side. With call each call is drawn',
  )
  test.todo('[14.1-12] Inside a run, the version offered is the version called')
  test.todo('[14.1-13] guard {min_calls, max_error_increase} belongs to the entry of a rollout')
  test.todo('[14.1-14] Changing a rollout needs installation')
  test.todo(
    '[14.1-15] GET /api/tools/:name/versions and the page compare versions: calls, success rate, p50, p95 and cost, with confidence intervals',
  )
  test.todo('[14.1-16] The comparison of versions has a plain verdict that says "not enough calls yet" when that is so')
})
