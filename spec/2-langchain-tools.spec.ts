import { tool } from '@langchain/core/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { configured } from './fixtures/tool-manager.ts'

describe('LangChain tools', () => {
  test('[2.8-1] executes a LangChain tool like any other', async () => {
    const { registry, execute } = await configured([])
    const schema = z.object({ word: z.string() })
    registry.register(tool(({ word }) => word.toUpperCase(), { name: 'shout', description: 'Shouts', schema }))
    expect(await execute('shout', { word: 'hey' })).toMatchObject({ success: true, result: 'HEY', tool_name: 'shout' })
  })
})
