import { describe, expect, test } from 'vitest'
import { splitRequest } from './conversation.ts'

describe('several requests in one sentence', () => {
  test.each<[string, string[]]>([
    ['turn on the kitchen lamp and set the volume to 30', ['turn on the kitchen lamp', 'set the volume to 30']],
    ['Please dim the lamp, then play jazz', ['Please dim the lamp', 'play jazz']],
    ['turn on the lamp. What is the time?', ['turn on the lamp', 'What is the time?']],
    ['What is 15% of 60? And also 20% of 45?', ['What is 15% of 60', '20% of 45?']],
    ['find recipes with salt and pepper', ['find recipes with salt and pepper']],
    ["send Anna 'wait and call me'", ["send Anna 'wait and call me'"]],
    ['Translate Hello, how are you? from English', ['Translate Hello, how are you? from English']],
    ['I am off to Rome. Is it warm there?', ['I am off to Rome', 'Is it warm there?']],
    ['1. dim the lamp\n2) a jazz song, please', ['dim the lamp', 'a jazz song, please']],
    ['set the volume to 30. Then play jazz', ['set the volume to 30', 'Then play jazz']],
    ['1) dim the lamp 2) play jazz', ['dim the lamp', 'play jazz']],
    ['dim the lamp (to 30) now', ['dim the lamp (to 30) now']],
    ['dim the lamp; volume to 30', ['dim the lamp', 'volume to 30']],
    ['Given the patient 5, retrieve the report', ['Given the patient 5, retrieve the report']],
  ])('%s', (said, expected) => {
    expect(splitRequest(said)).toEqual(expected)
  })

  test('a verb of a tool begins a request', () => {
    expect(splitRequest('rotate it and flip it', new Set(['rotate', 'flip']))).toEqual(['rotate it', 'flip it'])
    expect(splitRequest('rotate it and flip it')).toHaveLength(1)
  })

  test('a long text is left whole', () => {
    const text = 'turn on the lamp and '.repeat(100)
    expect(splitRequest(text)).toEqual([text])
  })
})
