import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Words and phrases that sound translated, each with what to write instead. Matched across line breaks, in any case. */
const PHRASES: Readonly<Record<string, string>> = {
  'call(s|ed|ing)? (it |them |that |this )?off': 'cancel, abort',
  'board(s|ed|ing)? (a|the) flight': 'join an in-flight call',
  'tapes?': 'recording',
  'lifelines?': 'heartbeat, keep-alive',
  '(an address|addresses) inside(?! a)': 'private address, internal network',
  'who(ever)? runs the server': 'operator, administrator',
  'where it must not': 'blocked by network policy',
  'brought to \\d': 'clamped to',
  'mend(s|ed|ing)?': 'fix',
  'dear(er|est|ly)?(?! (all|reader))': 'expensive',
  'that there is not is': "created if it doesn't exist",
  'written down': 'stored, recorded',
  'how (it|they) stands? with': 'status, state',
  'are kept that fit': 'no matching runs',
  '(so many )?of (a|1)? ?(100|hundred) calls': 'latency percentiles',
  'page for people': 'web UI',
  'gives nobody for ever': 'HTTP server with timeouts',
  'is said so of': 'warns about each misconfigured provider',
  'an ear for': 'a callback',
  'no business of': 'must not change',
  'somebody who waits for him': 'in a fixed order to avoid deadlocks',
  'the one error of the system': 'a ToolExecutionError',
  'is made anew, as asked': 'reconnecting (requested)',
  'is called now is not recorded': 'calls are not recorded',
  'look at it, take it out': 'list, export and verify',
  'in the place of what is known': 'replace stored results',
  'do not rely on it yet': "hasn't been tested on this server yet",
  'take away a word': 'clear the search or the filters',
  'it does not fit:': 'must be …',
  'recorded: nobody is asked': 'no model call',
  'nothing limits calls': 'no rate limits',
  'the first thing that was to be kept': 'the first write',
  'what gives first': 'bottlenecks',
  'come as leases': 'each server leases a share',
}

const FOLDERS = ['src', 'web', 'packages', 'docs', 'scripts', 'bench', 'examples', 'test', 'spec', 'conformance']
const PAGES = ['create-toolyard', 'deploy', 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']
const root = fileURLToPath(new URL('..', import.meta.url))
const files = execFileSync('git', ['ls-files', ...FOLDERS, ...PAGES], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(tsx?|m?js|md|ya?ml|css|html|sh)$/.test(file) && file !== 'test/style.test.ts')

/** The text with line breaks, indentation and comment markers as single spaces. */
const flat = (text: string): string => text.replace(/\s*\n\s*(\/\/+|\*+(?!\/)|--|#+)?\s*/g, ' ')

test('no text sounds translated', () => {
  const phrase = new RegExp(`\\b(?:${Object.keys(PHRASES).join('|')})(?!\\w)`, 'gi')
  const found = files.flatMap((file) => {
    const text = flat(readFileSync(`${root}/${file}`, 'utf8'))
    return [...text.matchAll(phrase)].map(({ index, 0: words }) => {
      const [, instead] = Object.entries(PHRASES).find(([one]) => new RegExp(`^(?:${one})$`, 'i').test(words)) ?? []
      return `${file}: "${text.slice(Math.max(0, index - 40), index + 60)}": write "${instead}"`
    })
  })
  expect(files.length).toBeGreaterThan(1_000)
  expect(found).toEqual([])
})
