import { afterAll, describe, expect, test } from 'vitest'
import { config, emptyFolder, mock, toolyard } from '../fixtures/toolyard.ts'

afterAll(emptyFolder)
const FALLBACK = 'This folder has no toolyard.config.json: these are the tools that ship with Toolyard.\n'

describe('tools', () => {
  test('lists name, kind, effect and description', async () => {
    const { code, out, err } = await toolyard(['tools'])
    expect({ code, err }).toEqual({ code: 0, err: FALLBACK })
    expect(out).toMatch(/^get_weather {2,}mock {2,}read {2,}Get the current weather/m)
    expect(out).toMatch(/^search_documents {2,}internal {2,}read {2,}Search/m)
    expect(out.trimEnd().split('\n')).toHaveLength(12)
  })

  test('--check passes the configuration that ships', async () => {
    const { code, err } = await toolyard(['tools', '--check'])
    expect({ code, err }).toEqual({ code: 0, err: `${FALLBACK}Checked 12 tools: every schema compiles.\n` })
  })

  test('--check fails for an unknown kind and for a missing handler', async () => {
    const typo = await config('typo', [{ ...mock('typo', 1), implementation: { type: 'mokc' } }])
    const failed = await toolyard(['tools', '--check', '--config', typo])
    expect(failed.code).toBe(1)
    expect(failed.out).toMatch(/^typo .*BROKEN: Unknown implementation type: mokc$/m)
    const own = await config('own', [{ ...mock('own', 1), implementation: { type: 'internal', handler: 'mine' } }])
    const missing = await toolyard(['tools', '--check', '--config', own])
    expect(missing.code).toBe(1)
    expect(missing.out).toMatch(/^own .*BROKEN: Internal handler 'mine' not found$/m)
  })

  test('--check marks broken tools, names skipped ones, and exits with 1', async () => {
    const broken = mock('broken', 1, { a: { type: 'no-such-type' } })
    const file = await config('broken', [mock('good', 1), broken, { name: 'nothing' }])
    const { code, out, err } = await toolyard(['tools', '--check', '--config', file])
    expect(code).toBe(1)
    expect(out).toMatch(/^good .*Answers for good/m)
    expect(out).toMatch(/^broken .*BROKEN: /m)
    expect(err).toContain("Skipped: nothing: missing 'implementation'\n")
    expect(err).toContain('Checked 2 tools: 2 faulty.')
    const json = await toolyard(['tools', '--check', '--json', '--config', file])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out)).toMatchObject({
      tools: [
        { name: 'good', kind: 'mock', effect: 'read' },
        { name: 'broken', broken: expect.any(String) },
      ],
      skipped: [{ name: 'nothing' }],
    })
  })

  test('tools that are switched off are an empty list, and a hint', async () => {
    const file = await config('off', [mock('good', 1)], {})
    const off = 'Tools are disabled: set "tools": {"enabled": true} in the configuration.\n'
    expect(await toolyard(['tools', '--config', file])).toMatchObject({ code: 0, out: '' })
    expect((await toolyard(['exec', 'good', '--config', file])).err).toContain(off)
    expect(JSON.parse((await toolyard(['tools', '--json', '--config', file])).out)).toMatchObject({ tools: [] })
  })

  test('a tool without a handler is listed with the reason', async () => {
    const file = await config('warned', [{ ...mock('lost', 1), implementation: { type: 'builtin', handler: 'none' } }])
    const { code, out, err } = await toolyard(['tools', '--config', file])
    expect(code).toBe(0)
    expect(out).toMatch(/^lost {2}builtin {2}write {2}BROKEN: Builtin handler 'none' not found/)
    expect(err).toBe('')
  })
})
