import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { printable } from './common/terminal.ts'
import { BIN, config, ENV, emptyFolder, folder, mock, spawnToolyard, toolyard } from './fixtures/toolyard.ts'

const ESCAPE = '\u001b'
afterAll(emptyFolder)

describe('wrong usage exits with 2 and a sentence', () => {
  test.each([
    [['tols'], "Unknown command 'tols'. Did you mean tools?"],
    [['exec', 'echo', '--tiemout', '5'], "Unknown option '--tiemout'. Did you mean --timeout?"],
    [['exec'], `Missing required argument 'tool'. See "toolyard exec --help".`],
    [['keys', 'revoke'], `Missing required argument 'id'. See "toolyard keys revoke --help".`],
    [['help', 'tols'], `Unknown command 'tols'. See "toolyard --help".`],
    [[], 'No command given. See "toolyard --help".'],
    [['exec', 'echo', 'hello'], '"hello" is neither a JSON object nor a key=value pair.'],
    [['exec', 'echo', 'a b=1'], '"a b=1" is neither a JSON object nor a key=value pair.'],
    [['tools', '--config', ''], '--config needs a file name, but got an empty string.'],
    [['exec', 'echo', '--timeout', 'soon'], "--timeout takes a number of milliseconds, not 'soon'."],
    [['exec', 'echo', '{"text":'], 'the parameter is not valid JSON: '],
    [['exec', 'echo', '[1]'], 'the parameter must be a JSON object, not an array.'],
    [['exec', 'echo', 'null'], 'the parameter must be a JSON object, not null.'],
    [['exec', 'echo', 'a=1', 'b'], '"b" is not a key=value pair.'],
    [['exec', 'echo', 'a=1', 'a=2'], '"a" is given twice.'],
    [['exec', 'echo', '-'], 'stdin is not valid JSON: '],
    [['tools', '--config', 'nowhere.json'], 'nowhere.json: there is no such file.'],
    [['completion', 'tcsh'], "There is no completion for the shell 'tcsh', only for bash, zsh, fish."],
    [[`tools${ESCAPE}[31m`], "Unknown command 'tools\\u001b[31m'"],
  ])('%j', async (args, sentence) => {
    const { code, out, err } = await toolyard([...args, '--json'])
    expect({ code, err }).toEqual({ code: 2, err: '' })
    const { success, error } = JSON.parse(out)
    expect(success).toBe(false)
    expect(printable(error)).toContain(sentence)
  })

  test.each([
    [['tols'], "Unknown command 'tols'. Did you mean tools?"],
    [['exec', 'echo', '[1]'], 'the parameter must be a JSON object, not an array.'],
    [['tools', '--config', 'nowhere.json'], 'nowhere.json: there is no such file.'],
    [[`tools${ESCAPE}[31m`], "Unknown command 'tools\\u001b[31m'"],
  ])('%j without --json, on stderr', async (args, sentence) => {
    const { code, out, err } = await toolyard(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(sentence)
  })

  test('no command shows the help, on stderr', async () => {
    const { code, out, err } = await toolyard([])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('Usage: toolyard')
  })

  test('a bad configuration names its file, the place and the fix', async () => {
    const file = join(folder, 'typo.json')
    await writeFile(file, '{"tools":{"enbled":true}}')
    const { code, err } = await toolyard(['tools'], { env: { TOOLYARD_CONFIG: file } })
    expect(code).toBe(2)
    expect(err).toBe(`${file}: unknown key 'tools.enbled': did you mean 'enabled'?\n`)
  })
})

describe('control characters are escaped', () => {
  const hostile = `${ESCAPE}]0;title\u0007\u009b31m\u202eevil\r\nnext`

  test('in results, names and errors', async () => {
    const file = await config('hostile', [
      mock('text', hostile),
      mock('value', { [hostile]: hostile }),
      mock(hostile, 1),
    ])
    const commands = [['exec', 'text'], ['exec', 'value'], ['exec', hostile], ['tools']]
    const ends = await Promise.all(commands.map((args) => toolyard([...args, '--config', file])))
    for (const { out, err } of ends) {
      expect(out + err).toContain('evil')
      expect(out + err).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
    }
    expect(ends.at(-1)?.err).toMatch(/^Skipped: .*\n$/)
  })

  test('a name with newlines stays on one line of --json and of the log', async () => {
    const { out, err } = await toolyard(['exec', 'a\nb', '--json', '--verbose'])
    expect(out.trimEnd().split('\n')).toHaveLength(1)
    expect(JSON.parse(out)).toMatchObject({ error_code: 'TOOL_NOT_FOUND', tool_name: 'a\nb' })
    expect(
      err
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).msg),
    ).toContain('Tool not found')
  })
})

describe('help and version', () => {
  test('--help has examples, --version is that of the package, both also as JSON', async () => {
    const commands = [['--help'], ['exec', '--help'], ['--version'], ['--version', '--json'], ['--json', 'help']]
    const ends = await Promise.all(commands.map((args) => toolyard(args)))
    for (const { code, err } of ends) expect({ code, err }).toEqual({ code: 0, err: '' })
    const [help, execHelp, version, versionJson, helpJson] = ends.map((end) => end.out)
    expect(help).toContain('toolyard exec get_weather location=Paris')
    expect(execHelp).toContain('--timeout <ms>')
    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(JSON.parse(versionJson ?? '')).toEqual({ version: version?.trim() })
    expect(JSON.parse(helpJson ?? '')).toEqual({ help: help?.trimEnd() })
  })
})

test('the configuration of the current folder goes before the one that ships', async () => {
  const cwd = await mkdtemp(join(folder, 'own-'))
  await writeFile(
    join(cwd, 'toolyard.config.json'),
    JSON.stringify({ tools: { enabled: true, registry: [mock('mine', 1)] } }),
  )
  expect((await toolyard(['tools'], { cwd })).out).toMatch(/^mine /)
})

describe('as a process', () => {
  test('wrong usage exits with 2, without colours in a pipe', async () => {
    expect(await spawnToolyard(['tols'])).toEqual({
      code: 2,
      out: '',
      err: 'Unknown command \'tols\'. Did you mean tools? See "toolyard --help".\n',
    })
  })

  test('reads parameters from a pipe', async () => {
    const { code, out } = await spawnToolyard(['exec', 'echo', '-', '--json'], { stdin: '{"text":"héllo"}' })
    expect([code, JSON.parse(out)]).toMatchObject([0, { success: true, result: { echo: { text: 'héllo' } } }])
  })

  test('exits although a handler is still running', async () => {
    const { code, out } = await spawnToolyard(['demo', '--json'])
    expect([code, JSON.parse(out).calls.at(-1).result]).toMatchObject([0, { error_code: 'TIMEOUT' }])
  })
})

test.runIf(existsSync('/dev/full'))('a result that could not be written is no success', async () => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [BIN, 'exec', 'echo'], { env: ENV, stdio: ['ignore', full, 'ignore'] })
  const code = await new Promise((resolve) => child.on('close', resolve))
  closeSync(full)
  expect(code).toBe(1)
})

test('a reader that has seen enough ends it quietly', async () => {
  const file = await config('long', [mock('long', 'line\n'.repeat(100_000))])
  const child = spawn(process.execPath, [BIN, 'exec', 'long', '--config', file], { env: ENV })
  let err = ''
  child.stderr.on('data', (text) => {
    err += text
  })
  child.stdout.once('data', () => child.stdout.destroy())
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect({ code, err }).toEqual({ code: 0, err: '' })
})
