import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, type Server } from '@modelcontextprotocol/server'
import { type Log, writeLog } from '../../core/log.ts'
import type { Caller } from './caller.ts'
import type { Library } from './library.ts'

/** Answers for resources and prompts out of a library. */
export function serveLibrary(methods: Server, library: Library, caller: Caller, log: Log): void {
  const ask = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      writeLog(log, 'warn', { err: error }, `${what} could not be had`)
      throw new ProtocolError(ProtocolErrorCode.InternalError, `${what} could not be had: its server did not give it`)
    }
  }

  methods.setRequestHandler('resources/list', async () => ({
    resources: [...(await ask('The list of resources', () => library.listResources(caller.context)))],
  }))
  methods.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: [...(await ask('The list of templates', () => library.listResourceTemplates(caller.context)))],
  }))
  methods.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const found = await ask(`Resource '${uri}'`, () => library.readResource(uri, caller.context))
    if (found === undefined) throw new ResourceNotFoundError(uri, `Resource '${uri}' not found`)
    return found
  })
  methods.setRequestHandler('prompts/list', async () => ({
    prompts: [...(await ask('The list of prompts', () => library.listPrompts(caller.context)))],
  }))
  methods.setRequestHandler('prompts/get', async ({ params: { name, arguments: args = {} } }) => {
    const found = await ask(`Prompt '${name}'`, () => library.getPrompt(name, args, caller.context))
    if (found === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt '${name}' not found`)
    return found
  })
}
