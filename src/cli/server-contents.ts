import type { Client } from '@modelcontextprotocol/client'
import { listAll } from '../mcp/client/list-all.ts'

/** What a server has besides its tools, as far as it can be shown. */
export interface ServerContents {
  readonly resources: readonly { readonly uri: string; readonly name: string }[]
  readonly resource_templates: readonly { readonly uri: string; readonly name: string }[]
  readonly prompts: readonly { readonly name: string; readonly description: string }[]
}

/** Lists the resources and prompts of a server; a list that it does not have is empty. */
export async function serverContents(client: Client, signal: AbortSignal): Promise<ServerContents> {
  const { resources, prompts } = client.getServerCapabilities() ?? {}
  const list = async (has: unknown, ...[method, key]: [Parameters<typeof listAll>[1], string]) =>
    has === undefined ? [] : (await listAll(client, method, key, signal)).map((one) => Object(one) as Entry)
  const [files, templates, asked] = await Promise.all([
    list(resources, 'resources/list', 'resources'),
    // A server may have the one list and not the other.
    list(resources, 'resources/templates/list', 'resourceTemplates').catch((): Entry[] => []),
    list(prompts, 'prompts/list', 'prompts'),
  ])
  return {
    resources: files.map(({ uri, name }) => ({ uri: text(uri), name: text(name) })),
    resource_templates: templates.map(({ uriTemplate, name }) => ({ uri: text(uriTemplate), name: text(name) })),
    prompts: asked.map(({ name, description }) => ({ name: text(name), description: text(description) })),
  }
}

type Entry = Readonly<Record<string, unknown>>

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
