import { describe, test } from 'vitest'

describe('MCP tools', () => {
  test.todo('see section 5')
})
