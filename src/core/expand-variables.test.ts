import { describe, expect, test } from 'vitest'
import { expandVariables, hasVariable, splitAtVariables, variableIn } from './expand-variables.ts'

describe('variables in texts', () => {
  test('each is replaced by what it is set to, without the blanks around it', () => {
    expect(expandVariables('a ${ONE}${TWO} b', { ONE: ' 1\n', TWO: '2' })).toEqual({ text: 'a 12 b', missing: [] })
  })

  test('those that are not set, or empty, are named', () => {
    expect(expandVariables('${ONE}${TWO}', { TWO: ' ' })).toEqual({ text: '', missing: ['ONE', 'TWO'] })
  })

  test('what every object inherits is no variable that is set', () => {
    expect(variableIn({}, 'toString')).toBe(undefined)
    expect(expandVariables('${constructor}', {}).missing).toEqual(['constructor'])
  })

  test('a value is not looked through for more of them', () => {
    expect(expandVariables('${ONE}', { ONE: '${TWO}', TWO: '2' }).text).toBe('${TWO}')
  })

  test('what is not a name stays as it is', () => {
    expect(expandVariables('$ONE ${1} ${a-b} {ONE}', { ONE: '1' }).text).toBe('$ONE ${1} ${a-b} {ONE}')
    expect([hasVariable('$ONE ${1}'), hasVariable('a${ONE}')]).toEqual([false, true])
  })

  test('a text is cut into texts and names in turn', () => {
    expect(splitAtVariables('a${ONE}${TWO}b')).toEqual(['a', 'ONE', '', 'TWO', 'b'])
    expect(splitAtVariables('a')).toEqual(['a'])
  })
})
