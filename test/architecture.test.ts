import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  arrows,
  boundParameters,
  coreImportsNoIo,
  coreLooksNowhere,
  kebabCaseNames,
  libraryIsLight,
  noCrowdedFolders,
  noCycles,
  noDefaultExports,
  noLongFiles,
  noMutualFolders,
  packagesAreOptional,
  packagesStandAlone,
  webImportsTypes,
} from './setup/architecture-rules.ts'
import { parseSource, readSources } from './setup/source-file.ts'

/** The public surface. A name is added or taken away here first: it is a decision. */
const PUBLIC: readonly string[] = [
  'AnthropicClient',
  'Chat',
  'ConfigError',
  'GeminiClient',
  'ModelCatalogue',
  'ModelError',
  'ModelValidationError',
  'ModelValidationTracker',
  'NoResponseRuleError',
  'OllamaClient',
  'OpenAIClient',
  'ProcessPool',
  'ProviderClient',
  'ToolErrorCode',
  'ToolExecutionError',
  'ToolExecutor',
  'ToolHandlers',
  'ToolLoop',
  'ToolManager',
  'ToolRegistry',
  'UnknownModelError',
  'aiSdkModel',
  'createLog',
  'generateChat',
  'isolated',
  'kinds',
  'langchainModel',
  'loadConfigFile',
  'openProvider',
  'openTelemetryTracer',
  'silentLog',
  'toLangChain',
  'type AcceptedMedia',
  'type AssistantMessage',
  'type Budget',
  'type CallBatch',
  'type CallContext',
  'type CallRecord',
  'type ChatOptions',
  'type ChatReply',
  'type ChatRequest',
  'type Clock',
  'type Config',
  'type Content',
  'type CreateToolyard',
  'type DecideOptions',
  'type Effect',
  'type FailureExtras',
  'type FinishReason',
  'type HandedTool',
  'type Handler',
  'type HandlerContext',
  'type Implementation',
  'type IsolatedHandler',
  'type JsonSchema',
  'type Kind',
  'type LangchainTool',
  'type LoadReport',
  'type Log',
  'type MediaPart',
  'type Message',
  'type Model',
  'type ModelEvent',
  'type ModelInfo',
  'type ModelPrices',
  'type ModelRequest',
  'type ModelTest',
  'type ModelValidation',
  'type ModelValidationTrackerOptions',
  'type OfferedTool',
  'type Params',
  'type Part',
  'type Parts',
  'type Problem',
  'type Profile',
  'type ProviderSettings',
  'type RecordSink',
  'type RequiredParameter',
  'type ResponseRule',
  'type ResumeOptions',
  'type RegisteredTool',
  'type RunAnswer',
  'type RunEvent',
  'type RunRequest',
  'type StopReason',
  'type StoredValidation',
  'type ToolCall',
  'type ToolDefinition',
  'type ToolExecutorOptions',
  'type ToolFailure',
  'type ToolFigures',
  'type ToolLoopOptions',
  'type ToolRegistryOptions',
  'type ToolResult',
  'type ToolSuccess',
  'type TrackedCall',
  'type Usage',
  'type AnyTool',
  'type InputOf',
  'type ObjectSchema',
  'type ParsedOf',
  'type StandardSchema',
  'type Tool',
  'type ToolContext',
  'type ToolFields',
  'type ToolOptions',
  'tool',
  'type CallOptions',
  'createToolyard',
  'type GivenLog',
  'type GivenModel',
  'type GivenTool',
  'type OutputSchema',
  'type RunOptions',
  'type RunResult',
  'type RunStream',
  'Toolyard',
  'type ToolyardOptions',
  'type ValidationStore',
]

const root = fileURLToPath(new URL('..', import.meta.url))
const files = ['src', 'packages', 'web'].flatMap((folder) => readSources(root, folder))

/** A rule, the sentence it stands for, and a file that breaks it. */
const rules = [
  ['imports follow the arrows', arrows, 'src/core/a.ts', "import { x } from '../kinds/x.ts'"],
  ['no folder stands outside the arrows', arrows, 'src/helpers/a.ts', 'export const a = 1'],
  ['nothing in src imports what is not shipped', arrows, 'src/cli/a.ts', "import '../../scripts/x.js'"],
  ['only tests import testing', arrows, 'src/kinds/a.ts', "import type { X } from '../testing/x.ts'"],
  ['of the kinds only mcp looks into mcp', arrows, 'src/kinds/http.ts', "const x = await import('../mcp/x.ts')"],
  ['a package imports nothing of Toolyard', packagesStandAlone, 'packages/mini/src/a.ts', "import '../../../src/a.ts'"],
  [
    'optional packages are loaded at run time',
    packagesAreOptional,
    'src/cli/a.ts',
    "import { a } from '@toolyard/mini'",
  ],
  [
    'the library loads what it needs when it is used',
    libraryIsLight,
    'src/library/tool.ts',
    "import { ToolManager } from '../app/tools/tool-manager.ts'",
  ],
  ['the core imports no I/O', coreImportsNoIo, 'src/core/a.ts', "import { readFile } from 'node:fs/promises'"],
  ['the core looks at no environment', coreLooksNowhere, 'src/core/a.ts', 'export const home = process.env.HOME'],
  ['the page imports types only', webImportsTypes, 'web/src/a.tsx', "import { x } from '../../src/server/x.ts'"],
  [
    'values reach a database as bound parameters only',
    boundParameters,
    'src/storage/a.ts',
    'export const find = (id: string) => `SELECT * FROM calls WHERE id = ${id}`',
  ],
  ['there are no default exports', noDefaultExports, 'src/core/a.ts', 'export default 1'],
  ['no file is longer than 500 lines', noLongFiles, 'src/core/a.ts', '\n'.repeat(501)],
  ['files are named in kebab-case', kebabCaseNames, 'src/core/toolName.ts', ''],
  [
    'no two folders of one level import each other',
    noMutualFolders,
    'src/core/a.ts',
    "import type { Storage } from './storage/storage.ts'",
  ],
  ['no file imports itself over others', noCycles, 'src/core/a.ts', "export type { X } from './a.ts'"],
] as const

describe('architecture', () => {
  test.each(rules)('%s', (_sentence, rule) => {
    expect(rule(files)).toEqual([])
  })

  test.each(rules)('a file is caught that breaks: %s', (_sentence, rule, path, text) => {
    expect(rule([...files, parseSource(path, text)]).join('\n')).toContain(path)
  })

  test('a cycle over several files is named whole', () => {
    const cycle = ['a', 'b', 'c'].map((name, index) =>
      parseSource(`src/core/${name}.ts`, `import './${['b', 'c', 'a'][index]}.ts'`),
    )
    expect(noCycles(cycle)).toEqual(['src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts'])
  })

  test('a folder with more than 20 files is named', () => {
    expect(noCrowdedFolders(files)).toEqual([])
    const crowd = Array.from({ length: 21 }, (_, index) => parseSource(`src/core/crowd/a${index}.ts`, ''))
    expect(noCrowdedFolders(crowd)).toEqual([expect.stringContaining('src/core/crowd has 21 files')])
  })

  test('the public surface is what was decided', () => {
    const exported = files.flatMap(({ path, exports }) => (/^src\/(library\/)?index\.ts$/.test(path) ? exports : []))
    expect([...new Set(exported)].sort()).toEqual(['*', ...PUBLIC].sort())
  })
})
