import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { OfferedTool, Params } from '../base/port.ts'
import { readParameters } from '../fill/parameter.ts'
import { operationsOf, parametersUsed } from './operations.ts'

const config = JSON.parse(readFileSync(new URL('../../../../toolyard.config.json', import.meta.url), 'utf8'))
const shipped: readonly OfferedTool[] = config.tools.registry
const parametersOf = (name: string) =>
  readParameters(shipped.find((tool) => tool.name === name)?.parameters as OfferedTool['parameters'])

const door = (description: string) =>
  readParameters({
    type: 'object',
    properties: {
      action: { type: 'string', enum: ['open', 'lock'], description },
      door: { type: 'string', description: 'The door.' },
      code: { type: 'string', description: 'For lock: the code of the lock.' },
    },
    required: ['action', 'door'],
  })

test('what a tool does is read from the description of its choice', () => {
  const [open, lock] = operationsOf(door('open: let somebody in. lock: keep everybody out; needs "code".'))
  expect(open).toMatchObject({ parameter: 'action', option: 'open', description: 'let somebody in' })
  expect(open?.parameters.map(({ name }) => name)).toEqual(['door'])
  expect(lock).toMatchObject({ description: 'keep everybody out' })
  expect(lock?.parameters.map(({ name, required, description }) => [name, required, description])).toEqual([
    ['door', true, 'The door.'],
    ['code', true, 'the code of the lock.'],
  ])
})

test('a choice that is not described whole is one value among others', () => {
  expect(operationsOf(door('open: let somebody in, or lock'))).toEqual([])
  expect(operationsOf(door('What to do.'))).toEqual([])
})

test('the tools that ship say what they do, and what may stand in for a date', () => {
  const [now, diff, format] = operationsOf(parametersOf('datetime'))
  expect(now?.parameters.map(({ name }) => name)).toEqual(['timezone'])
  expect(diff?.standIns).toEqual({ from: 'now', to: 'now' })
  expect(format?.standIns).toEqual({ date: 'now' })
  expect(operationsOf(parametersOf('string'))).toHaveLength(12)
})

test('a call takes the parameters of what it was told to do', () => {
  const parameters = parametersOf('string')
  const names = (params: Params) => parametersUsed(parameters, params).map(({ name }) => name)
  expect(names({ operation: 'reverse' })).toEqual(['text'])
  expect(names({ operation: 'count' })).toEqual(['text', 'search'])
  expect(names({})).toHaveLength(parameters.length)
})
