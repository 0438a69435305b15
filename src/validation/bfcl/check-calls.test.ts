import { describe, expect, test } from 'vitest'
import type { Params } from '../../core/tool.ts'
import type { ObservedCall } from '../suites/suite.ts'
import { acceptedCall, type BfclFunction } from './bfcl-function.ts'
import { checkCalls } from './check-calls.ts'

const play: BfclFunction = {
  name: 'music.play',
  description: 'Plays.',
  parameters: {
    properties: {
      artist: { type: 'string' },
      minutes: { type: 'float' },
      tags: { type: 'array', items: { type: 'dict' } },
    },
    required: ['artist'],
  },
}
const answers = (...written: object[]) =>
  written.map((one) => acceptedCall({ 'music.play': one })).filter((one) => !!one)
const calls = (...params: Params[]): ObservedCall[] => params.map((one) => ({ tool: 'music_play', params: one }))
const question = { functions: [play], language: 'python' } as const

describe('calls by the published rules', () => {
  test('assigns the first fitting call to each answer, like the published checker', () => {
    const accepted = answers({ artist: ['Abba', 'Queen'] }, { artist: ['Abba'] })
    expect(checkCalls(calls({ artist: 'Queen' }, { artist: 'Abba' }), accepted, question)).toEqual({ passed: true })
    expect(checkCalls(calls({ artist: 'Abba' }, { artist: 'Queen' }), accepted, question)).toMatchObject({
      kind: 'wrong_value',
      actual: 'Queen',
    })
  })

  test('blames the call that fits no other answer', () => {
    const accepted = answers({ artist: ['Abba'] }, { artist: ['Queen'] })
    const verdict = checkCalls(calls({ artist: 'Queen' }, { artist: 'Blur' }), accepted, question)
    expect(verdict).toMatchObject({
      kind: 'wrong_value',
      tool: 'music_play',
      message: 'music_play: artist is "Blur", expected one of: Abba.',
      expected: ['Abba'],
      actual: 'Blur',
    })
  })

  test('accepts an empty list for a parameter that may be omitted, also of objects', () => {
    const accepted = answers({ artist: ['Abba'], tags: ['', [{ name: ['live'] }]] })
    for (const params of [{}, { tags: [] }, { tags: [{ name: 'Live' }] }]) {
      expect(checkCalls(calls({ artist: 'abba', ...params }), accepted, question)).toEqual({ passed: true })
    }
    const wrong = checkCalls(calls({ artist: 'abba', tags: [{ name: 'Live', at: 1 }] }), accepted, question)
    expect(wrong).toMatchObject({ kind: 'wrong_value' })
  })

  test('does not take inherited names for parameters', () => {
    const verdict = checkCalls(calls({ artist: 'Abba', constructor: 1 }), answers({ artist: ['Abba'] }), question)
    expect(verdict).toMatchObject({ kind: 'unexpected_parameter' })
  })
})
