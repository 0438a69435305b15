import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { snippets } from './snippets.ts'

const asked = { tool: 'say', params: { text: 'it\'s "so"\n é ☃' }, url: 'http://127.0.0.1:1' }
const textOf = (title: string, withKey = false) =>
  snippets({ ...asked, withKey }).find((one) => one.title === title)?.text ?? ''

test('a call is shown for curl, TypeScript, Python and the command line', () => {
  expect(snippets({ ...asked, withKey: false }).map(({ title }) => title)).toEqual([
    'curl',
    'TypeScript',
    'Python',
    'CLI',
  ])
})

test('a shell passes the parameters on unchanged', () => {
  const script = textOf('CLI').replace('npx toolyard exec', 'printf %s\\\\n')
  const [tool, ...params] = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n')
  expect([tool, JSON.parse(params.join('\n'))]).toEqual(['say', asked.params])
})

test('a key is named, and never shown', () => {
  for (const title of ['curl', 'TypeScript', 'Python']) {
    expect(textOf(title, true)).toContain('TOOLYARD_KEY')
    expect(textOf(title)).not.toContain('TOOLYARD_KEY')
  }
})
