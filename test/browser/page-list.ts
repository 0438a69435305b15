import type { Page } from 'playwright-core'
import { chooseModel } from './choose-model.ts'
import type { openUsedServer } from './newcomer-server.ts'

type UsedServer = Awaited<ReturnType<typeof openUsedServer>>

/** A page, and what stands there when it is whole. */
export interface ListedPage {
  readonly name: string
  readonly path: (server: UsedServer) => string
  readonly ready: string
  /** In which light the docs show it, if they do. */
  readonly pictured?: readonly ('light' | 'dark')[]
  /** What somebody does there before a picture for the docs is taken. */
  readonly use?: (page: Page, server: UsedServer) => Promise<void>
}

const LIGHT = ['light'] as const

/** Every page: each is looked at by the tests, and most are pictured in the docs. */
export const PAGES: readonly ListedPage[] = [
  { name: 'tools', path: () => '/', ready: 'search_documents', pictured: LIGHT },
  {
    name: 'tool',
    path: () => '/tool/get_weather',
    ready: 'The unit of the temperature.',
    pictured: LIGHT,
    use: callTool,
  },
  {
    name: 'testing',
    path: () => '/tools-testing',
    ready: 'search_documents',
    pictured: ['light', 'dark'],
    use: testModel,
  },
  { name: 'models', path: () => '/models', ready: 'at least', pictured: LIGHT },
  { name: 'runs', path: () => '/activity/runs', ready: "What's the weather in Paris and London?" },
  { name: 'calls', path: () => '/activity/calls', ready: 'get_weather' },
  { name: 'chats', path: () => '/activity/chats', ready: 'No chats yet' },
  { name: 'activity', path: () => '/activity', ready: 'get_weather', pictured: LIGHT },
  { name: 'metrics', path: () => '/activity/metrics', ready: 'Iteration depth', pictured: LIGHT },
  { name: 'costs', path: () => '/activity/costs', ready: 'No cost is known' },
  { name: 'objectives', path: () => '/activity/objectives', ready: 'Compliance report' },
  { name: 'connections', path: () => '/activity/connections', ready: 'Connections' },
  { name: 'views', path: () => '/activity/views', ready: 'No saved views yet' },
  { name: 'settings', path: () => '/settings', ready: 'Settings', pictured: LIGHT },
  { name: 'setup', path: () => '/setup/mcp', ready: 'Paste a server', pictured: LIGHT, use: testServer },
  { name: 'run', path: ({ run }) => `/runs/${run}`, ready: 'Final Response' },
]

async function callTool(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: 'location' }).fill('Paris')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('execution_time_ms').waitFor()
}

/** Toolyard is an MCP server, too. */
async function testServer(page: Page, { url }: UsedServer): Promise<void> {
  const pasted = JSON.stringify({ mcpServers: { shop: { url: `${url}/mcp` } } }, null, 2)
  await page.getByRole('textbox', { name: 'Configuration, URL or command' }).fill(pasted)
  await page.getByRole('button', { name: 'Test', exact: true }).click()
  await page.getByText('connected', { exact: true }).waitFor()
}

async function testModel(page: Page, { model }: UsedServer): Promise<void> {
  await chooseModel(page, model.name)
  await page.getByRole('button', { name: /Simple Tool Call/ }).click()
  await page.getByRole('button', { name: 'Run Test' }).click()
  await page.getByRole('button', { name: 'Record as passed' }).click()
  await page.getByText('Recorded as passed').waitFor()
}
