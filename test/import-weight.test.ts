import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { loadedFiles } from '../scripts/import-weight.ts'

const source = join(import.meta.dirname, '../src')
const library = readFileSync(join(import.meta.dirname, '../docs/guides/library.md'), 'utf8')

test.each([
  ['toolyard', 'index.ts'],
  ['@toolyard/core', 'library/index.ts'],
])(
  'importing %s loads at most 60 modules, as many as docs/guides/library.md says, and of packages only small ones',
  async (name, file) => {
    const groups = await loadedFiles(join(source, file))
    const total = [...groups.values()].reduce((sum, files) => sum + files.length, 0)
    expect([...groups.keys()].sort()).toEqual(['lru-cache', 'toolyard'])
    expect(total).toBeLessThanOrEqual(60)
    expect(library).toMatch(new RegExp(`^\\| \`${name}\` \\| \\d+ \\| \\d+ \\| ${total} \\|`, 'm'))
  },
)

test('the classes underneath load when they are used', async () => {
  const program = `
    import { ConfigError, createLog, ToolExecutor, ToolManager } from 'toolyard'
    class Mine extends ToolManager {}
    const manager = new Mine({ tools: { enabled: true } }, { log: createLog('silent') })
    const seen = [manager instanceof Mine, manager instanceof ToolManager, manager.getExecutor() instanceof ToolExecutor]
    try {
      new ToolManager({ tools: { enabled: 'yes' } })
    } catch (error) {
      seen.push(error instanceof ConfigError)
    }
    await manager.close()
    console.log(seen.join(' '))`
  const args = ['-C', 'toolyard-source', '--input-type=module', '-e', program]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
  expect({ stdout, stderr }).toEqual({ stdout: 'true true true true\n', stderr: '' })
})
