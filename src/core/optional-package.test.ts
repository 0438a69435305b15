import { expect, test } from 'vitest'
import { loadOptional } from './optional-package.ts'
import { ToolExecutionError } from './tool-result.ts'

const missing = (name: string): Error =>
  Object.assign(new Error(`Cannot find package '${name}' imported from /app/x.js`), { code: 'ERR_MODULE_NOT_FOUND' })

test('names the packages to install if one is missing', async () => {
  const load = () => Promise.reject(missing('pg-boss'))
  await expect(loadOptional('PostgreSQL', ['pg', 'pg-boss'], load)).rejects.toThrow(
    new ToolExecutionError('EXECUTION_ERROR', 'PostgreSQL needs the packages pg, pg-boss: npm install pg pg-boss'),
  )
})

test('reports a damaged package as it is', async () => {
  const damaged = missing('pg-protocol')
  await expect(loadOptional('PostgreSQL', ['pg'], () => Promise.reject(damaged))).rejects.toBe(damaged)
})

test('finds out that a package is really missing', async () => {
  const name: string = 'a-package-that-is-not-installed'
  await expect(loadOptional('This test', [name], () => import(/* @vite-ignore */ name))).rejects.toThrow(/npm install/)
})
