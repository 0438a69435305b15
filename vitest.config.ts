import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const project = (name: string, include: string[]) => ({ extends: true as const, test: { name, include } })

/** Tests that start servers and browsers first: the short ones fill the gaps, and nothing long is left at the end. */
const ORDER = ['whole', 'examples', 'spec', 'conformance', 'unit']

/** Short files that take long, because they start programs. Without times of an earlier run, Vitest sorts by size. */
const STARTS_PROGRAMS = /\/src\/(isolation|cli)\//

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project, moduleId }: TestSpecification): number =>
      ORDER.indexOf(project.name) + (project.name === 'unit' && !STARTS_PROGRAMS.test(moduleId) ? 1 : 0)
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}

export default defineConfig({
  resolve: {
    alias: [
      // Vite can't resolve a package by its own name, so this repeats the `toolyard-source` condition of `exports`.
      { find: /^toolyard$/, replacement: at('src/index.ts') },
      { find: /^toolyard\/server$/, replacement: at('src/server/index.ts') },
      { find: /^toolyard\/(ai-sdk|langchain|mcp|openai-agents)$/, replacement: at('src/library/$1.ts') },
      // Node would load these modules a second time, beside the transformed ones.
      { find: /^\.\/on-demand\.ts$/, replacement: at('src/underneath.ts') },
      { find: /^toolyard\/testing$/, replacement: at('src/testing/index.ts') },
      { find: /^@toolyard\/mini$/, replacement: at('packages/mini/src/index.ts') },
      // Only the tests in src/storage start the storage thread: they import './open-storage.ts'.
      { find: /^(\.\.\/)+(src\/)?storage\/open-storage\.ts$/, replacement: at('test/setup/open-storage.ts') },
      // Only the tests in packages/mini/src/engine ask the model in the box: they import './process-reader.ts'.
      { find: /^\.\/engine\/process-reader\.ts$/, replacement: at('test/setup/recorded-reader.ts') },
    ],
  },
  test: {
    // Processes, not threads: tests end processes, listen for signals and count what is left behind.
    pool: 'forks',
    isolate: false,
    // More than there are cores: many tests wait for processes.
    maxWorkers: availableParallelism() * 2,
    sequence: { sequencer: LongestFirst },
    // The code that strips types is WebAssembly; with many threads V8 frees it while it is in use, and crashes.
    execArgv: ['--conditions=toolyard-source', '--no-wasm-code-gc'],
    // Long enough for a busy machine: it only matters when something hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // Golden files that are missing fail, too. `-u` writes them.
    update: 'none',
    globalSetup: [at('test/setup/shared-services.ts')],
    setupFiles: ['loopback-only', 'patient-waits'].map((name) => at(`test/setup/${name}.ts`)),
    projects: [
      project('unit', ['src/**/*.test.ts', 'packages/**/*.test.ts', 'web/src/**/*.test.ts']),
      project('spec', ['spec/**/*.spec.ts']),
      project('whole', ['test/**/*.test.ts']),
      project('conformance', ['conformance/**/*.test.ts']),
      project('examples', ['examples/**/*.test.ts']),
    ],
  },
})
