import { describe, expect, test } from 'vitest'
import { expandVariables, hasVariable, splitAtVariables, variableIn } from './environment.ts'

describe('variables in texts', () => {
  test('are replaced by their trimmed value', () => {
    expect(expandVariables('a ${ONE}${TWO} b', { ONE: ' 1\n', TWO: '2' })).toEqual({ text: 'a 12 b', missing: [] })
  })

  test('lists unset and empty variables', () => {
    expect(expandVariables('${ONE}${TWO}', { TWO: ' ' })).toEqual({ text: '', missing: ['ONE', 'TWO'] })
  })

  test('ignores inherited properties', () => {
    expect(variableIn({}, 'toString')).toBe(undefined)
    expect(expandVariables('${constructor}', {}).missing).toEqual(['constructor'])
  })

  test('values are not expanded again', () => {
    expect(expandVariables('${ONE}', { ONE: '${TWO}', TWO: '2' }).text).toBe('${TWO}')
  })

  test('leaves invalid names unchanged', () => {
    expect(expandVariables('$ONE ${1} ${a-b} {ONE}', { ONE: '1' }).text).toBe('$ONE ${1} ${a-b} {ONE}')
    expect([hasVariable('$ONE ${1}'), hasVariable('a${ONE}')]).toEqual([false, true])
  })

  test('splits a text into texts and names', () => {
    expect(splitAtVariables('a${ONE}${TWO}b')).toEqual(['a', 'ONE', '', 'TWO', 'b'])
    expect(splitAtVariables('a')).toEqual(['a'])
  })
})
