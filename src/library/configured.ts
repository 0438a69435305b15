import { dirname, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { isRecord, wrongType } from '../core/check-options.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { writeLog } from '../core/log.ts'
import { suggest } from '../core/suggest.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import { type CreateToolyard, type OpenConfigured, type Opened, type StoredRuns, toolyardCreator } from './toolyard.ts'

/** Reads configurations, knows the models of all providers, and opens stores. */
const openConfigured: OpenConfigured<Config | string> = async (given, parts, model) => {
  const [
    { ToolManager },
    { LOCK_NAME, loadConfigFile },
    { EMBEDDED_PROVIDER, usualProviders },
    { USUAL_PROVIDER_NAMES },
    { idleSettings, idleWarnings },
    { withTools },
    { ignoredMcpSettings },
  ] = await Promise.all([
    import('../app/tools/tool-manager.ts'),
    import('../config/load-config.ts'),
    import('../config/model-settings.ts'),
    import('../models/provider.ts'),
    import('./idle-settings.ts'),
    import('../config/bounded-config.ts'),
    import('../config/mcp-settings.ts'),
  ])
  const [provider = ''] = (model ?? EMBEDDED_PROVIDER).split(':')
  const known: readonly string[] = [...USUAL_PROVIDER_NAMES, EMBEDDED_PROVIDER]
  if (!known.includes(provider)) {
    const [near] = suggest(provider, known)
    const fix =
      near === undefined ? `Add it to providers of the config, or use ${known.join(', ')}` : `Did you mean "${near}"?`
    throw new TypeError(`Unknown provider "${provider}". ${fix}`)
  }
  const read: Config =
    typeof given === 'string'
      ? (await loadConfigFile(given)).config
      : (given ?? { providers: usualProviders([model ?? '']) })
  if (!isRecord(read)) {
    throw wrongType('createToolyard', 'config', 'a configuration or the name of its file', read)
  }
  const config = withTools(read)
  const { storage, ...rest } = parts
  const others = typeof given === 'string' ? { ...rest, packages: join(dirname(given), LOCK_NAME) } : rest
  const { manager, stored, close } =
    storage === undefined
      ? withoutStore(new ToolManager(config, others))
      : await withStore(storage, { ...others, config })
  const { skipped } = await manager.loadTools()
  for (const problem of given === undefined ? [] : idleWarnings(read)) {
    writeLog(parts.log, 'warn', { problem }, 'Setting without effect')
  }
  return {
    registry: manager.getRegistry(),
    executor: manager.getExecutor(),
    loop: async () => manager.getLoop(),
    async configured(id) {
      const models = await manager.getModels()
      if (!models.providers.includes(id.split(':')[0] ?? '')) return undefined
      return { model: models.get(id), prices: models.info(id).prices }
    },
    mistakes: () => [
      ...skipped.map(({ name, problem }) => `Tool '${name}' of the config: ${problem}`),
      ...manager
        .getMcpStatus()
        .flatMap(({ state, place, problem }) => (state === 'left_out' ? [`${place} of the config: ${problem}`] : [])),
      ...ignoredMcpSettings(read),
      ...(given === undefined ? [] : idleSettings(read, storage !== undefined)),
    ],
    isComplete: () => manager.getMcpStatus().every(({ state }) => state !== 'connecting' && state !== 'not_reachable'),
    async connected() {
      if (!manager.isEnabled()) return
      const servers = manager.getMcpServers()
      const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS)
      await Promise.allSettled(servers.names.map((name) => servers.connection(name).client(signal)))
    },
    stored,
    close,
  } satisfies Opened
}

/** A first attempt takes no longer. A server that fails is tried again in the background. */
const CONNECT_TIMEOUT_MS = 30_000

type Manager = import('../app/tools/tool-manager.ts').ToolManager
type InstallationOptions = import('../app/installation.ts').InstallationOptions

const withoutStore = (manager: Manager) => ({ manager, stored: undefined, close: () => manager.close() })

async function withStore(storage: string, options: Omit<InstallationOptions, 'env'>) {
  const { Installation } = await import('../app/installation.ts')
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(storage) ?? []
  if (scheme !== undefined && !/^postgres(ql)?$/.test(scheme)) {
    throw new TypeError(`storage must be a folder, or an address postgres://…, not ${scheme}://…`)
  }
  const { TOOLYARD_DATABASE_URL: _url, ...env } = process.env
  const place = scheme === undefined ? { TOOLYARD_DATA: storage } : { TOOLYARD_DATABASE_URL: storage }
  const installation = await Installation.open({ ...options, env: { ...env, ...place } }).catch((error: Error) => {
    const isFolder = scheme === undefined && error instanceof ToolExecutionError
    throw isFolder ? new Error(`storage "${storage}" can't be used: ${error.message}`, { cause: error }) : error
  })
  const { durableRuns, approvals, manager } = installation
  const stored: StoredRuns = {
    run: (request, durable) => (durable ? durableRuns.run(request) : durableRuns.pausing(request)),
    async resume(id, context, modelOf) {
      const run = await durableRuns.get(context.tenant ?? LOCAL_TENANT, id)
      if (run === undefined) throw new TypeError(`There is no run '${id}' that waits or can be continued`)
      const used = await modelOf(durableRuns.modelOf(run))
      const { caller: user } = run
      return durableRuns.resume(run, { ...used, context: { ...context, ...(user !== '' && { caller: user }) } })
    },
    async decide(id, { tenant = LOCAL_TENANT, by = 'code', ...given }) {
      await approvals.decide(tenant, id, given, { id: by, name: by, source: 'code' })
    },
  }
  return { manager, stored, close: () => installation.close() }
}

/** Makes an instance of tools in code, of a configuration, or of both. */
export const createToolyard: CreateToolyard<Config | string> = toolyardCreator(openConfigured)
