import { expect, test } from 'vitest'
import { z } from 'zod'
import { scripted } from '../testing/stand-ins.ts'
import { createToolyard } from './configured.ts'
import { tool } from './tool.ts'

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  execute: () => ({ degrees: 20 }),
})

test('gives a validated output of a Zod or JSON Schema', async () => {
  await using yard = await createToolyard({ tools: [forecast] })
  const output = z.object({ city: z.string(), degrees: z.number().refine((n) => n < 60, 'is too hot') })
  const model = scripted(
    { calls: [{ name: 'forecast', arguments: { city: 'Oslo' } }] },
    '{"city": "Oslo", "degrees": 99}',
    '{"city": "Oslo", "degrees": 20}',
  )
  const answer = await yard.run({ model, prompt: 'How warm is Oslo?', output })
  expect(answer.output?.degrees).toBe(20)
  expect(model.requests[2]?.messages.at(-1)?.content).toContain('is too hot')
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
  const stream = yard.stream({ model: scripted('{"city": "Oslo"}'), prompt: 'Where?', output: schema })
  expect((await stream.answer).output?.city).toBe('Oslo')
  const refused = await yard.run({ model: scripted('Oslo', 'Oslo!'), prompt: 'Where?', output: schema })
  expect(refused).toMatchObject({ stop_reason: 'error', error: expect.stringContaining('not a JSON object') })
  const list = { type: 'array' } as never
  const wrong = yard.run({ model: scripted(), prompt: 'Where?', output: list })
  await expect(wrong).rejects.toThrow('yard.run: output must be an object schema')
})
