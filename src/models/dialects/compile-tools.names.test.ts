import { describe, expect, it } from 'vitest'
import type { Dialect } from '../provider.ts'
import { compileTools, WireNames } from './compile-tools.ts'

const LEGAL: [Dialect, RegExp][] = [
  ['openai', /^[a-zA-Z0-9_-]{1,64}$/],
  ['anthropic', /^[a-zA-Z0-9_-]{1,128}$/],
  ['gemini', /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/],
  ['ollama', /^[a-zA-Z0-9_-]{1,64}$/],
]
const ODD = ['', 'a.b', 'a:b', 'a b', '1st', '-x', 'naïve', '🔧', 'x'.repeat(65), 'x'.repeat(200), 'a/b/c', '__proto__']

describe('WireNames', () => {
  it.each(LEGAL)('gives %s a legal name for any tool, and the tool back', (dialect, legal) => {
    const names = new WireNames(ODD, dialect)
    const wire = ODD.map((name) => names.wireName(name))
    for (const name of wire) expect(name).toMatch(legal)
    expect(new Set(wire).size).toBe(ODD.length)
    expect(wire.map((name) => names.toolName(name))).toEqual(ODD)
  })

  it.each(LEGAL)('gives %s a legal name for tools that are offered no more', (dialect, legal) => {
    const names = new WireNames(['a_b'], dialect)
    for (const name of ODD) expect(names.wireName(name)).toMatch(legal)
    if (dialect !== 'gemini') expect(names.wireName('a.b')).not.toBe('a_b')
    expect(names.wireName('gone.tool')).toBe(dialect === 'gemini' ? 'gone.tool' : 'gone_tool')
  })

  it('keeps every legal name, whatever stands beside it', () => {
    const names = new WireNames(['a.b', 'a_b', 'a:b'], 'openai')
    expect(names.wireName('a_b')).toBe('a_b')
    expect(names.toolName('a_b')).toBe('a_b')
    expect(names.wireName('a.b')).toMatch(/^a_b_[0-9a-f]{8}$/)
    expect(names.toolName(names.wireName('a:b'))).toBe('a:b')
  })

  it('gives the same names in any order', () => {
    const all = [...ODD, 'a_b', 'x'.repeat(64)]
    const [one, other] = [new WireNames(all, 'openai'), new WireNames(all.toReversed(), 'openai')]
    expect(all.map((name) => one.wireName(name))).toEqual(all.map((name) => other.wireName(name)))
  })

  it('marks a name only where two would be the same', () => {
    expect(new WireNames(['math.sum'], 'anthropic').wireName('math.sum')).toBe('math_sum')
    expect(new WireNames(['math.sum'], 'gemini').wireName('math.sum')).toBe('math.sum')
  })

  it('gives Ollama the names that LangChain prefers, unless two tools would have the same', () => {
    const tool = (name: string, lc_name?: string) => ({
      name,
      description: '',
      parameters: {},
      ...(lc_name && { lc_name }),
    })
    const tools = [
      tool('search', 'DocumentSearch'),
      tool('a', 'same'),
      tool('b', 'same'),
      tool('c', 'a'),
      tool('d', 'x y'),
    ]
    const names = tools.map(({ name }) => name)
    const ollama = compileTools(tools, 'ollama')
    expect(ollama.tools.map(({ name }) => name)).toEqual(['DocumentSearch', 'a', 'b', 'c', 'd'])
    expect(names.map((name) => ollama.toolName(ollama.wireName(name)))).toEqual(names)
    expect(compileTools(tools, 'openai').tools.map(({ name }) => name)).toEqual(names)
  })

  it('gives a name back unchanged that is nobody’s', () => {
    expect(new WireNames(['a'], 'openai').toolName('made_up')).toBe('made_up')
  })
})
